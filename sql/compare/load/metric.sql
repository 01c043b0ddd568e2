-- Training, importance-sampling and workload metrics of one run. Not narrowed by the selection of steps: the profile's steps and the
-- training's need not be the same numbers. Variables: side, run.
CREATE TABLE IF NOT EXISTS c_metric (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    step BIGINT,
    name VARCHAR NOT NULL,
    value DOUBLE,             -- NULL where it was not a finite number
    profiled BOOLEAN NOT NULL
);
INSERT INTO c_metric
SELECT getvariable('side'), getvariable('run'), step, name, CASE WHEN isfinite(value) THEN value END, profiled
FROM store.metric;
