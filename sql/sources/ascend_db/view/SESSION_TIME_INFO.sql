-- The profiler session; the end is missing if the session was not stopped cleanly.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_SESSION_TIME_INFO AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    sound_ns(TRY_CAST("startTimeNs" AS BIGINT)) AS start_ns,
    sound_ns(TRY_CAST("endTimeNs" AS BIGINT)) AS end_ns
FROM (
    FROM stub_ascend_db.SESSION_TIME_INFO
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'SESSION_TIME_INFO')
);
