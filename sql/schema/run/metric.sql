-- Training, importance-sampling and workload metrics.
CREATE TABLE metric (
    step BIGINT,                -- training step; NULL: a value of the whole run
    name VARCHAR NOT NULL,      -- verl's name, such as timing_s/step or actor/entropy
    value DOUBLE,               -- value as logged, in the unit of the metric; NULL, NaN or infinite if it was not a number
    source VARCHAR NOT NULL,    -- file that it was read from
    profiled BOOLEAN NOT NULL,  -- TRUE: the step ran under a profiler, so its times do not measure speed
    warmup BOOLEAN              -- TRUE: a warm-up step, so its times do not measure speed; NULL: unknown
);
