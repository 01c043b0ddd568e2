-- Tasks of collectives by kind of collective and task name.
CREATE TABLE r_collective_task (
    capture INTEGER NOT NULL,
    step BIGINT,
    kind VARCHAR NOT NULL,
    name VARCHAR,
    calls BIGINT,
    sum_ns BIGINT,
    min_ns BIGINT,
    max_ns BIGINT,
    size_bytes BIGINT
);
