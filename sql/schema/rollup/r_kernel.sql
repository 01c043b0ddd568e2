-- Kernels by what they are, per capture, device, step and phase.
CREATE TABLE r_kernel (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    step BIGINT,              -- NULL: outside all steps (counts in msprof only)
    phase VARCHAR,            -- phase name; NULL: outside all phases
    name VARCHAR,             -- kernel name without its running numbers, the key where there are no types
    op_type VARCHAR,          -- NULL at Level0
    core_type VARCHAR,
    category VARCHAR NOT NULL,
    input_shapes VARCHAR,
    input_dtypes VARCHAR,
    host_op VARCHAR,          -- name of the framework operator that launched it
    calls BIGINT NOT NULL,
    sum_ns BIGINT,
    min_ns BIGINT,
    max_ns BIGINT,
    busy_ns BIGINT,           -- share of the union; sums to r_time.compute_ns
    gap_ns BIGINT,            -- free time right before
    elements DOUBLE           -- input elements over all calls; NULL without shapes
);
