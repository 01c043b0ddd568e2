-- Tasks of collectives by kind of collective and task name.
CREATE TABLE r_collective_task (
    capture INTEGER NOT NULL,  -- capture.capture
    step BIGINT,               -- step.step; NULL: outside all steps
    kind VARCHAR NOT NULL,     -- collective.kind
    name VARCHAR,              -- Notify_Wait | Memcpy | Reduce_Inline | RDMASend | …
    calls BIGINT,              -- number of tasks
    sum_ns BIGINT,             -- sum of their durations
    min_ns BIGINT,             -- shortest task
    max_ns BIGINT,             -- longest task
    size_bytes BIGINT          -- sum of the bytes transferred
);
