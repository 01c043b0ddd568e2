-- Sampled device counters, reduced.
CREATE TABLE r_counter (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: unknown
    name VARCHAR NOT NULL,     -- counter.name
    samples BIGINT,            -- number of samples
    mean DOUBLE,               -- mean of the values; aicore_freq_mhz: weighted by the time until the next sample
    min DOUBLE,                -- lowest value
    max DOUBLE                 -- highest value
);
