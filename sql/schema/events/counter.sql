-- Sampled device counters: frequency, HBM, LLC, NIC, …
CREATE TABLE counter (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: unknown
    name VARCHAR NOT NULL,     -- aicore_freq_mhz | aicore_clock_mhz (by which cycles became times) | hbm_read_bytes_per_s | hbm_write_bytes_per_s | llc_hit_percent | …
    ts_ns BIGINT,              -- time of the sample, in ns since the epoch
    value DOUBLE               -- value, in the unit that the name ends with
);
