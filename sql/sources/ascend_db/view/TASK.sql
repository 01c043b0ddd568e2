-- Every device task. connectionId 4294967295 is "none".
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_TASK AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    sound_ns(TRY_CAST("startNs" AS BIGINT)) AS start_ns,
    sound_ns(TRY_CAST("endNs" AS BIGINT)) AS end_ns,
    TRY_CAST("deviceId" AS INTEGER) AS device_id,
    nullif(TRY_CAST("connectionId" AS BIGINT), 4294967295) AS connection_id,
    TRY_CAST("globalTaskId" AS BIGINT) AS task_id,
    TRY_CAST("taskType" AS BIGINT) AS task_type,
    TRY_CAST("streamId" AS BIGINT) AS stream
FROM (
    FROM stub_ascend_db.TASK
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'TASK')
);
