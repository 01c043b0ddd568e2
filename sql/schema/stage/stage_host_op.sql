-- Framework operators (PYTORCH_API type 50001, cpu_op) as a source found them. Holds all captures of the batch.
-- Variables: capture.
CREATE TEMP TABLE stage_host_op (
    capture INTEGER NOT NULL DEFAULT getvariable('capture'),
    id BIGINT NOT NULL,
    thread BIGINT,
    name VARCHAR,
    start_ns BIGINT,
    end_ns BIGINT,
    sequence_number BIGINT,
    input_shapes VARCHAR,
    input_dtypes VARCHAR
);
