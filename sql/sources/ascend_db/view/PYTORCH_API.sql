-- Framework rows: 50001 operators, 50002 task queue, 50003 Python trace, 50004 mstx. Times are TEXT.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
CREATE OR REPLACE TEMP VIEW src_PYTORCH_API AS
SELECT
    TRY_CAST("startNs" AS BIGINT) AS start_ns,
    TRY_CAST("endNs" AS BIGINT) AS end_ns,
    TRY_CAST("globalTid" AS BIGINT) AS thread,
    TRY_CAST("connectionId" AS BIGINT) AS connection_id,
    TRY_CAST("name" AS BIGINT) AS name,
    nullif(TRY_CAST("sequenceNumber" AS BIGINT), -1) AS sequence_number,
    TRY_CAST("inputDtypes" AS BIGINT) AS input_dtypes,
    TRY_CAST("inputShapes" AS BIGINT) AS input_shapes,
    TRY_CAST("callchainId" AS BIGINT) AS callchain,
    TRY_CAST("type" AS BIGINT) AS type
FROM (
    FROM sqlite_scan(getvariable('stub_db'), 'PYTORCH_API')
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('db_PYTORCH_API'), 'PYTORCH_API')
);
