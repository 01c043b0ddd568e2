-- Framework operators on the host.
CREATE TABLE host_op (
    id BIGINT NOT NULL,
    capture INTEGER NOT NULL,
    thread BIGINT,
    name VARCHAR,
    start_ns BIGINT,
    end_ns BIGINT,
    step BIGINT,
    phase INTEGER,
    parent_id BIGINT,         -- the operator of the same thread that directly contains it
    sequence_number BIGINT,
    input_shapes VARCHAR,
    input_dtypes VARCHAR,
    self_ns BIGINT,           -- duration without the operators directly inside
    device_self_ns BIGINT,    -- kernels that it launched itself
    device_ns BIGINT          -- kernels launched inside it, at any depth
);
