-- Framework operators by name.
CREATE TABLE r_operator (
    capture INTEGER NOT NULL,
    step BIGINT,              -- NULL: outside all steps, or the source has no time stamps
    phase VARCHAR,
    name VARCHAR,
    calls BIGINT,
    host_ns BIGINT,           -- sum of durations
    self_ns BIGINT,           -- without operators directly inside; NULL where events are not kept
    device_ns BIGINT,         -- kernels launched inside, at any depth; NULL where launches are unknown
    device_self_ns BIGINT,    -- kernels that the operators launched themselves
    min_ns BIGINT,            -- shortest and longest call; NULL where the source has sums only
    max_ns BIGINT
);
