-- One row per allocation.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns, sound_size.
CREATE OR REPLACE TEMP VIEW src_OP_MEMORY AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("name" AS BIGINT) AS name,
    sound_size(TRY_CAST("size" AS BIGINT)) AS size_bytes,
    sound_ns(TRY_CAST("allocationTime" AS BIGINT)) AS alloc_ns,
    sound_ns(TRY_CAST("releaseTime" AS BIGINT)) AS release_ns,
    sound_ns(TRY_CAST("duration" AS BIGINT)) AS duration_ns,
    TRY_CAST("deviceId" AS INTEGER) AS device_id
FROM (
    FROM stub_ascend_db.OP_MEMORY
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'OP_MEMORY')
);
