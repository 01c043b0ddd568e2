-- Size and direction of copies, since schema 1.2.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_size.
CREATE OR REPLACE TEMP VIEW src_MEMCPY_INFO AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("globalTaskId" AS BIGINT) AS task_id,
    sound_size(TRY_CAST("size" AS BIGINT)) AS size_bytes,
    TRY_CAST("memcpyOperation" AS BIGINT) AS operation
FROM (
    FROM stub_ascend_db.MEMCPY_INFO
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'MEMCPY_INFO')
);
