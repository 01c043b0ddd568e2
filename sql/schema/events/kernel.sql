-- Computing tasks on a device. A collective is not a kernel.
CREATE TABLE kernel (
    id BIGINT NOT NULL,
    capture INTEGER NOT NULL,
    device_id INTEGER,
    stream BIGINT,
    step BIGINT,              -- NULL: outside all steps
    phase INTEGER,            -- phase.id; NULL: outside all phases
    name VARCHAR,
    op_type VARCHAR,
    core_type VARCHAR,
    category VARCHAR NOT NULL, -- flash_attention_forward_cube, …, vector_trans, other: see sql/normalize/category
    start_ns BIGINT,
    end_ns BIGINT,
    wait_ns BIGINT,
    input_shapes VARCHAR,
    input_dtypes VARCHAR,
    input_formats VARCHAR,
    output_shapes VARCHAR,
    output_dtypes VARCHAR,
    output_formats VARCHAR,
    block_num BIGINT,
    host_op_id BIGINT,
    busy_ns BIGINT,           -- its own share of the union of kernels of its device and step (first come, first counted)
    gap_ns BIGINT,            -- free time of the device right before it
    msprof_category VARCHAR NOT NULL -- category, or 'other' where msprof-analyze has no class for it
);
