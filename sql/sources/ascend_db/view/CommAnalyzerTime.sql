-- analysis.db: times of one communication operator, ms. Its group name is the hash that the operator names end in.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
CREATE OR REPLACE TEMP VIEW src_CommAnalyzerTime AS
SELECT
    CAST("hccl_op_name" AS VARCHAR) AS name,
    CAST("group_name" AS VARCHAR) AS group_name,
    CAST(round(TRY_CAST("transit_time" AS DOUBLE) * 1e6) AS BIGINT) AS transit_ns,
    TRY_CAST(replace(CAST("step" AS VARCHAR), 'step', '') AS BIGINT) AS step
FROM (
    FROM sqlite_scan(getvariable('stub_db'), 'CommAnalyzerTime')
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('db_CommAnalyzerTime'), 'CommAnalyzerTime')
);
