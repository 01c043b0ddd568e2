-- nn.Module calls by name.
CREATE TABLE r_module (
    capture INTEGER NOT NULL,
    step BIGINT,
    phase VARCHAR,
    name VARCHAR,
    calls BIGINT,
    host_ns BIGINT,
    device_ns BIGINT          -- kernels launched inside the span on its thread (forward only; backward runs on autograd's)
);
