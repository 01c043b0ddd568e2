-- Calls into CANN; type 10000 is the node-level launch.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_CANN_API AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    sound_ns(TRY_CAST("startNs" AS BIGINT)) AS start_ns,
    sound_ns(TRY_CAST("endNs" AS BIGINT)) AS end_ns,
    TRY_CAST("type" AS BIGINT) AS type,
    TRY_CAST("globalTid" AS BIGINT) AS thread,
    nullif(TRY_CAST("connectionId" AS BIGINT), 4294967295) AS connection_id,
    TRY_CAST("name" AS BIGINT) AS name
FROM (
    FROM stub_ascend_db.CANN_API
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'CANN_API')
);
