-- Computing tasks on a device. A collective is not a kernel.
CREATE TABLE kernel (
    id BIGINT NOT NULL,               -- key with capture
    capture INTEGER NOT NULL,         -- capture.capture
    device_id INTEGER,                -- device; NULL: the host, or unknown
    stream BIGINT,                    -- stream of the device; NULL: unknown
    step BIGINT,                      -- step.step; NULL: outside all steps
    phase INTEGER,                    -- phase.id; NULL: outside all phases
    name VARCHAR,                     -- name as in the profile
    op_type VARCHAR,                  -- operator type, such as MatMulV2; NULL: unknown (Level0)
    core_type VARCHAR,                -- AI_CORE | AI_VECTOR_CORE | MIX_AIC | AI_CPU | …; NULL: unknown
    category VARCHAR NOT NULL,        -- flash_attention_forward_cube | … | vector_trans | other: see sql/normalize/category.sql
    start_ns BIGINT,                  -- start, in ns since the epoch
    end_ns BIGINT,                    -- end, in ns since the epoch
    wait_ns BIGINT,                   -- wait before it, "Wait Time(us)" of kernel_details.csv; NULL in other inputs
    input_shapes VARCHAR,             -- dimensions of its inputs, as '2,3;4'; NULL: not recorded
    input_dtypes VARCHAR,             -- data types of its inputs, separated by ';'; NULL: not recorded
    input_formats VARCHAR,            -- formats of its inputs (ND | NZ | …), separated by ';'; NULL: not recorded
    output_shapes VARCHAR,            -- dimensions of its outputs; NULL: not recorded
    output_dtypes VARCHAR,            -- data types of its outputs; NULL: not recorded
    output_formats VARCHAR,           -- formats of its outputs; NULL: not recorded
    block_num BIGINT,                 -- number of blocks (cores) that it ran on; NULL: unknown
    host_op_id BIGINT,                -- host_op.id of the operator that launched it; NULL: unknown
    busy_ns BIGINT,                   -- the part that no earlier kernel of the same device and step covers
    gap_ns BIGINT,                    -- free time of the device right before it
    msprof_category VARCHAR NOT NULL  -- category in msprof-analyze; 'other' if it has none
);
