-- Calls on the host by layer and name. Framework operators are here with layer 'framework'.
CREATE TABLE r_api (
    capture INTEGER NOT NULL,  -- capture.capture
    step BIGINT,               -- step.step; NULL: outside all steps, or sums that the profiler wrote itself
    layer VARCHAR NOT NULL,    -- framework (operators) | acl | model | node | communication | runtime
    name VARCHAR,              -- name of the call
    calls BIGINT,              -- number of calls
    sum_ns BIGINT,             -- sum of their durations
    self_ns BIGINT,            -- time in which no operator called inside runs; framework only, NULL if unknown
    min_ns BIGINT,             -- shortest call; NULL: unknown
    max_ns BIGINT              -- longest call; NULL: unknown
);
