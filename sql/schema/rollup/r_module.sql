-- nn.Module calls by name.
CREATE TABLE r_module (
    capture INTEGER NOT NULL,  -- capture.capture
    step BIGINT,               -- step.step; NULL: outside all steps
    phase VARCHAR,             -- phase.name; NULL: outside all phases
    name VARCHAR,              -- module.name
    calls BIGINT,              -- number of calls
    host_ns BIGINT,            -- sum of durations on the host
    device_ns BIGINT           -- time of the kernels launched inside on the same thread: forward only, backward runs on autograd's thread
);
