-- Sampled device counters: frequency, memory, links and network ports.
CREATE TABLE counter (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: unknown
    name VARCHAR NOT NULL,     -- aicore_freq_mhz | aicore_clock_mhz (by which cycles became times) | hbm_read_bytes_per_s | hbm_write_bytes_per_s | llc_hit_percent | hccs_tx_bytes_per_s | pcie_rx_post_bytes_per_s | nic_0_tx_bytes_per_s | roce_0_rx_dropped_packets (of port 0, since the device started) | …
    ts_ns BIGINT,              -- time of the sample, in ns since the epoch
    value DOUBLE               -- value, in the unit that the name ends with
);
