-- Memory sets.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: nsys_epoch_ns, sqlite_db.
-- Depends on nsys_pid, sound_ns, sound_size.
CREATE OR REPLACE TEMP VIEW src_CUPTI_ACTIVITY_KIND_MEMSET AS
SELECT
    sound_ns(TRY(TRY_CAST("start" AS BIGINT) + getvariable('nsys_epoch_ns'))) AS start_ns,
    sound_ns(TRY(TRY_CAST("end" AS BIGINT) + getvariable('nsys_epoch_ns'))) AS end_ns,
    nsys_pid(TRY_CAST("globalPid" AS BIGINT)) AS pid,
    TRY_CAST("deviceId" AS INTEGER) AS device_id,
    TRY_CAST("streamId" AS BIGINT) AS stream,
    TRY_CAST("correlationId" AS BIGINT) AS correlation,
    sound_size(TRY_CAST("bytes" AS BIGINT)) AS bytes
FROM (
    FROM stub_nsys.CUPTI_ACTIVITY_KIND_MEMSET
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'CUPTI_ACTIVITY_KIND_MEMSET')
);
