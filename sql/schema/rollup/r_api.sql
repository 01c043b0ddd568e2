-- Calls on the host by layer and name. Framework operators are here with layer 'framework'.
CREATE TABLE r_api (
    capture INTEGER NOT NULL,
    step BIGINT,              -- NULL: outside all steps, or sums that the profiler wrote
    layer VARCHAR NOT NULL,   -- framework | acl | model | node | communication | runtime
    name VARCHAR,
    calls BIGINT,
    sum_ns BIGINT,
    self_ns BIGINT,           -- framework only; NULL where events are not kept
    min_ns BIGINT,
    max_ns BIGINT
);
