-- Kernels grouped by name, type, shapes and launching operator, per capture, device, step and phase.
CREATE TABLE r_kernel (
    capture INTEGER NOT NULL,   -- capture.capture
    device_id INTEGER,          -- device; NULL: the host, or unknown
    step BIGINT,                -- step.step; NULL: outside all steps (such rows count in r_msprof only)
    phase VARCHAR,              -- phase.name; NULL: outside all phases
    name VARCHAR,               -- name without running numbers; identifies the kernel if there are no types
    op_type VARCHAR,            -- operator type; NULL: unknown (Level0)
    core_type VARCHAR,          -- AI_CORE | AI_VECTOR_CORE | MIX_AIC | AI_CPU | …; NULL: unknown
    category VARCHAR NOT NULL,  -- kernel.category
    input_shapes VARCHAR,       -- dimensions of the inputs; NULL: not recorded
    input_dtypes VARCHAR,       -- data types of the inputs; NULL: not recorded
    input_formats VARCHAR,      -- formats of the inputs (ND, FRACTAL_NZ, …); NULL: not recorded
    host_op VARCHAR,            -- name of the operator that launched them; NULL: unknown
    calls BIGINT NOT NULL,      -- number of kernels
    sum_ns BIGINT,              -- sum of their durations
    min_ns BIGINT,              -- shortest kernel
    max_ns BIGINT,              -- longest kernel
    busy_ns BIGINT,             -- sum of kernel.busy_ns; adds up to r_time.compute_ns
    gap_ns BIGINT,              -- free time of the device right before them
    elements DOUBLE,            -- input elements over all calls; NULL without shapes
    block_num BIGINT,           -- most blocks (cores) that one of them ran on; NULL: unknown
    work VARCHAR,               -- what `flop` and `bytes` count: gemm | grouped gemm | attention | memory; NULL: unknown. See sql/rollup/kernel_work.sql
    at_most BOOLEAN,            -- whether `flop` is an upper limit: a mask, or the sizes of groups, are not recorded; NULL without `work`
    precision VARCHAR,          -- half | int8: the type of the matrices that `flop` multiplies; NULL: another one
    flop DOUBLE,                -- floating-point operations over all calls; NULL: unknown, or only memory is moved
    bytes DOUBLE,               -- bytes of inputs and outputs over all calls, each once; NULL: unknown
    counted_ns BIGINT,          -- sum of the durations of those on cube cores whose counters say which unit worked; NULL: none
    cube_ns BIGINT,             -- part of counted_ns in which the cube unit computed
    load_ns BIGINT,             -- part of counted_ns in which data was loaded from memory (MTE2)
    l2_counted_ns BIGINT,       -- sum of the durations of those whose hits of the second-level cache were counted; NULL: none
    l2_hit_ns BIGINT            -- l2_counted_ns, each duration times the part of the accesses that were hits
);
