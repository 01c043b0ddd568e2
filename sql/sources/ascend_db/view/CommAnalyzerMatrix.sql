-- analysis.db: transfers by pair of ranks (indices inside the group), MB and ms; per communicator there are pseudo operators top1 … total.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
CREATE OR REPLACE TEMP VIEW src_CommAnalyzerMatrix AS
SELECT
    CAST("hccl_op_name" AS VARCHAR) AS name,
    CAST("op_name" AS VARCHAR) AS op_name,
    CAST("group_name" AS VARCHAR) AS group_name,
    TRY_CAST("src_rank" AS BIGINT) AS src_rank,
    TRY_CAST("dst_rank" AS BIGINT) AS dst_rank,
    CAST("transport_type" AS VARCHAR) AS transport,
    CAST(round(TRY_CAST("transit_size" AS DOUBLE) * 1e6) AS BIGINT) AS size_bytes,
    CAST(round(TRY_CAST("transit_time" AS DOUBLE) * 1e6) AS BIGINT) AS transit_ns,
    TRY_CAST(replace(CAST("step" AS VARCHAR), 'step', '') AS BIGINT) AS step
FROM (
    FROM sqlite_scan(getvariable('stub_db'), 'CommAnalyzerMatrix')
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('db_CommAnalyzerMatrix'), 'CommAnalyzerMatrix')
);
