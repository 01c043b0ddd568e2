-- Tasks that communication operators are made of.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- A size of -1 is none.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_size.
CREATE OR REPLACE TEMP VIEW src_COMMUNICATION_TASK_INFO AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("globalTaskId" AS BIGINT) AS task_id,
    TRY_CAST("taskType" AS BIGINT) AS task_type,
    TRY_CAST("planeId" AS BIGINT) AS plane,
    nullif(TRY_CAST("srcRank" AS BIGINT), 4294967295) AS src_rank,
    nullif(TRY_CAST("dstRank" AS BIGINT), 4294967295) AS dst_rank,
    TRY_CAST("transportType" AS BIGINT) AS transport,
    CASE WHEN TRY_CAST("size" AS BIGINT) >= 0 THEN sound_size(TRY_CAST("size" AS BIGINT)) END AS size_bytes,
    TRY_CAST("linkType" AS BIGINT) AS link_type,
    TRY_CAST("opId" AS BIGINT) AS op_id
FROM (
    FROM stub_ascend_db.COMMUNICATION_TASK_INFO
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'COMMUNICATION_TASK_INFO')
);
