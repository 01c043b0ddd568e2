-- Sampled device counters, reduced.
CREATE TABLE r_counter (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    name VARCHAR NOT NULL,
    samples BIGINT,
    mean DOUBLE,              -- aicore_freq_mhz: weighted by time until the next sample; others: plain
    min DOUBLE,
    max DOUBLE
);
