-- Framework operators by name.
CREATE TABLE r_operator (
    capture INTEGER NOT NULL,  -- capture.capture
    step BIGINT,               -- step.step; NULL: outside all steps, or the source has no time stamps
    phase VARCHAR,             -- phase.name; NULL: outside all phases
    name VARCHAR,              -- host_op.name
    calls BIGINT,              -- number of calls
    host_ns BIGINT,            -- sum of the durations of all calls on the host, as profilers report it
    host_total_ns BIGINT,      -- the same, without calls inside a call of the same name; NULL if the thread of a call is unknown
    host_self_ns BIGINT,       -- time on the host in which no operator called inside runs; NULL if the thread of a call is unknown
    device_total_ns BIGINT,    -- time of the kernels launched inside, at any depth, counted once per name; NULL if launches are unknown
    device_self_ns BIGINT,     -- time of the kernels that the operators launched themselves; NULL if launches are unknown
    min_ns BIGINT,             -- shortest call; NULL if the source has sums only
    max_ns BIGINT,             -- longest call; NULL if the source has sums only
    elements DOUBLE,           -- input elements over all calls; NULL without the shapes of all, and in captures with a device
    flop DOUBLE                -- floating-point operations over all calls of a matrix product or attention; NULL likewise, and for others
);
