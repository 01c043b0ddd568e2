-- One row per framework operator call without a time stamp (operator_details.csv), summed by name; used where no trace was read.
CREATE TABLE reported_operator (
    capture INTEGER NOT NULL,
    name VARCHAR,
    calls BIGINT,
    host_ns BIGINT,
    host_self_ns BIGINT,
    device_ns BIGINT,
    device_self_ns BIGINT
);
