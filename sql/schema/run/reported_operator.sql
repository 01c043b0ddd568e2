-- Framework operator calls without time stamps (operator_details.csv), summed by name. Used if no operator with time stamps was read for
-- the capture.
CREATE TABLE reported_operator (
    capture INTEGER NOT NULL,  -- capture.capture
    name VARCHAR,              -- name of the operator
    calls BIGINT,              -- number of calls
    host_ns BIGINT,            -- sum of durations on the host
    host_self_ns BIGINT,       -- the same, without operators called inside
    device_ns BIGINT,          -- time of the kernels launched inside
    device_self_ns BIGINT      -- time of the kernels that the operators launched themselves
);
