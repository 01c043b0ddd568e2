-- Calls of CUDA's runtime and driver on the host.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: nsys_epoch_ns, sqlite_db.
-- Depends on nsys_pid, sound_ns.
CREATE OR REPLACE TEMP VIEW src_CUPTI_ACTIVITY_KIND_RUNTIME AS
SELECT
    sound_ns(TRY(TRY_CAST("start" AS BIGINT) + getvariable('nsys_epoch_ns'))) AS start_ns,
    sound_ns(TRY(TRY_CAST("end" AS BIGINT) + getvariable('nsys_epoch_ns'))) AS end_ns,
    nsys_pid(TRY_CAST("globalTid" AS BIGINT)) AS pid,
    TRY_CAST("globalTid" AS BIGINT) AS thread,
    TRY_CAST("correlationId" AS BIGINT) AS correlation,
    TRY_CAST("nameId" AS BIGINT) AS name
FROM (
    FROM stub_nsys.CUPTI_ACTIVITY_KIND_RUNTIME
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'CUPTI_ACTIVITY_KIND_RUNTIME')
);
