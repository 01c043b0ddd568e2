-- Training, importance-sampling and workload metrics.
CREATE TABLE metric (
    step BIGINT,
    name VARCHAR NOT NULL,    -- verl's name
    value DOUBLE,             -- NULL, NaN or an infinity where it was no number
    source VARCHAR NOT NULL,  -- the file that it stands in
    profiled BOOLEAN NOT NULL,-- TRUE: the step ran under a profiler, so its times are no measure of speed
    warmup BOOLEAN            -- TRUE: likewise, because it is one of the run's warm-up steps; NULL: nothing says which are
);
