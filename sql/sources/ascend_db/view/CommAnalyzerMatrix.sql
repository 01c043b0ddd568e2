-- analysis.db: transfers by pair of ranks (indices inside the group), MB and ms; per communicator there are pseudo operators top1 … total.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_size, sound_text.
CREATE OR REPLACE TEMP VIEW src_CommAnalyzerMatrix AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    sound_text("hccl_op_name") AS name,
    sound_text("op_name") AS op_name,
    sound_text("group_name") AS group_name,
    TRY_CAST("src_rank" AS BIGINT) AS src_rank,
    TRY_CAST("dst_rank" AS BIGINT) AS dst_rank,
    sound_text("transport_type") AS transport,
    sound_size(TRY_CAST(round(TRY_CAST("transit_size" AS DOUBLE) * 1e6) AS BIGINT)) AS size_bytes,
    sound_size(TRY_CAST(round(TRY_CAST("transit_time" AS DOUBLE) * 1e6) AS BIGINT)) AS transit_ns,
    TRY_CAST(replace(sound_text("step"), 'step', '') AS BIGINT) AS step
FROM (
    FROM stub_ascend_db.CommAnalyzerMatrix
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'CommAnalyzerMatrix')
);
