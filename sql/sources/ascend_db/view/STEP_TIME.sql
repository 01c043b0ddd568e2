-- Host ranges of the profiler steps.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_STEP_TIME AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("id" AS BIGINT) AS step,
    sound_ns(TRY_CAST("startNs" AS BIGINT)) AS start_ns,
    sound_ns(TRY_CAST("endNs" AS BIGINT)) AS end_ns
FROM (
    FROM stub_ascend_db.STEP_TIME
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'STEP_TIME')
);
