-- Kernels as a source found them, before sql/normalize gives them step, phase and category. Holds all captures of the batch.
-- Variables: capture.
CREATE TEMP TABLE stage_kernel (
    capture INTEGER NOT NULL DEFAULT getvariable('capture'),
    id BIGINT NOT NULL,       -- unique within the capture
    device_id INTEGER,
    stream BIGINT,
    name VARCHAR,
    op_type VARCHAR,          -- NULL where the profile has none (Level0)
    core_type VARCHAR,        -- AI_CORE | AI_VECTOR_CORE | MIX_AIC | MIX_AIV | AI_CPU | DSA_SQE | …; NULL where unknown
    task_type VARCHAR,        -- the runtime's task type (KERNEL_AICORE, …); NULL in text
    start_ns BIGINT,
    end_ns BIGINT,
    wait_ns BIGINT,
    input_shapes VARCHAR,     -- as printed by the profiler, without outer quotes: "32,3,224,224;64"
    input_dtypes VARCHAR,
    input_formats VARCHAR,
    output_shapes VARCHAR,
    output_dtypes VARCHAR,
    output_formats VARCHAR,
    block_num BIGINT,         -- cores
    reported_step BIGINT,     -- text: Step Id
    launch_ns BIGINT,         -- host start of the node-level launch (CANN_API type 10000); NULL without a link
    host_op_id BIGINT,        -- stage_host_op.id of the framework operator that launched it; NULL without a link
    host_op_ns BIGINT,        -- its start
    cube BOOLEAN              -- the AI Core's cube unit worked (PMU, else task type); NULL: unknown
);
