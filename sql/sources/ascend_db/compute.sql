-- Computing tasks, with -1 for a missing text id, so that ids can be joined. The number of cores is blockNum since schema 1.2, in which
-- blockDim became a text id.
-- Variables: schema_minor.
-- Depends on src_COMPUTE_TASK_INFO.
-- Nothing without src_COMPUTE_TASK_INFO.
-- Runs after forget_framework.
CREATE OR REPLACE TEMP TABLE compute AS
SELECT capture, task_id, coalesce(block_num, CASE WHEN getvariable('schema_minor') < 2 THEN block_dim END) AS block_num,
       coalesce(name, -1) AS name, coalesce(op_type, -1) AS op_type, coalesce(core_type, -1) AS core_type,
       coalesce(input_shapes, -1) AS input_shapes, coalesce(input_dtypes, -1) AS input_dtypes, coalesce(input_formats, -1) AS input_formats,
       coalesce(output_shapes, -1) AS output_shapes, coalesce(output_dtypes, -1) AS output_dtypes, coalesce(output_formats, -1) AS output_formats
FROM src_COMPUTE_TASK_INFO;
