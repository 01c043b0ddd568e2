-- Properties of computing tasks. Cores are blockNum since schema 1.2, in which blockDim became a text id; before, blockDim.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of.
CREATE OR REPLACE TEMP VIEW src_COMPUTE_TASK_INFO AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("name" AS BIGINT) AS name,
    TRY_CAST("globalTaskId" AS BIGINT) AS task_id,
    TRY_CAST("blockDim" AS BIGINT) AS block_dim,
    TRY_CAST("blockNum" AS BIGINT) AS block_num,
    TRY_CAST("taskType" AS BIGINT) AS core_type,
    TRY_CAST("opType" AS BIGINT) AS op_type,
    TRY_CAST("inputFormats" AS BIGINT) AS input_formats,
    TRY_CAST("inputDataTypes" AS BIGINT) AS input_dtypes,
    TRY_CAST("inputShapes" AS BIGINT) AS input_shapes,
    TRY_CAST("outputFormats" AS BIGINT) AS output_formats,
    TRY_CAST("outputDataTypes" AS BIGINT) AS output_dtypes,
    TRY_CAST("outputShapes" AS BIGINT) AS output_shapes
FROM (
    FROM stub_ascend_db.COMPUTE_TASK_INFO
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'COMPUTE_TASK_INFO')
);
