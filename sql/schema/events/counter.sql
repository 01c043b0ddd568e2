-- Sampled device counters: frequency, HBM, LLC, NIC, …
CREATE TABLE counter (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    name VARCHAR NOT NULL,    -- aicore_freq_mhz, hbm_read, llc_hit_rate, …
    ts_ns BIGINT,
    value DOUBLE
);
