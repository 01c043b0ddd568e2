-- One row per framework operator call without a time stamp (operator_details.csv), summed by name; used where no trace was read.
CREATE TABLE reported_operator (
    capture INTEGER NOT NULL,  -- capture.capture
    name VARCHAR,              -- name of the operator
    calls BIGINT,              -- number of calls
    host_ns BIGINT,            -- sum of durations on the host
    host_self_ns BIGINT,       -- the same, without operators called inside
    device_ns BIGINT,          -- time of the kernels launched inside
    device_self_ns BIGINT      -- time of the kernels that the operators launched themselves
);
