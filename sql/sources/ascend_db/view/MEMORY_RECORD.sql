-- Memory levels of the framework and of GE.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns, sound_size.
CREATE OR REPLACE TEMP VIEW src_MEMORY_RECORD AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("component" AS BIGINT) AS component,
    sound_ns(TRY_CAST("timestamp" AS BIGINT)) AS ts_ns,
    sound_size(TRY_CAST("totalAllocated" AS BIGINT)) AS allocated_bytes,
    sound_size(TRY_CAST("totalReserved" AS BIGINT)) AS reserved_bytes,
    sound_size(TRY_CAST("totalActive" AS BIGINT)) AS active_bytes,
    TRY_CAST("deviceId" AS INTEGER) AS device_id
FROM (
    FROM stub_ascend_db.MEMORY_RECORD
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'MEMORY_RECORD')
);
