-- Framework operators by name.
CREATE TABLE r_operator (
    capture INTEGER NOT NULL,  -- capture.capture
    step BIGINT,               -- step.step; NULL: outside all steps, or the source has no time stamps
    phase VARCHAR,             -- phase.name; NULL: outside all phases
    name VARCHAR,              -- host_op.name
    calls BIGINT,              -- number of calls
    host_ns BIGINT,            -- sum of durations on the host
    self_ns BIGINT,            -- the same, without operators called inside; NULL if events are not kept
    device_ns BIGINT,          -- time of the kernels launched inside, at any depth; NULL if launches are unknown
    device_self_ns BIGINT,     -- time of the kernels that the operators launched themselves; NULL if launches are unknown
    min_ns BIGINT,             -- shortest call; NULL if the source has sums only
    max_ns BIGINT              -- longest call; NULL if the source has sums only
);
