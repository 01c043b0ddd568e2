-- Training, importance-sampling and workload metrics.
CREATE TABLE metric (
    step BIGINT,
    name VARCHAR NOT NULL,    -- verl's name
    value DOUBLE,
    source VARCHAR NOT NULL,
    profiled BOOLEAN NOT NULL -- TRUE: the step ran under a profiler, so its times are no measure of speed
);
