-- analysis.db: step times in microseconds (the documentation says milliseconds).
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_size, sound_text.
CREATE OR REPLACE TEMP VIEW src_StepTraceTime AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("deviceId" AS INTEGER) AS device_id,
    TRY_CAST(replace(sound_text("step"), 'step', '') AS BIGINT) AS step,
    sound_size(TRY_CAST(round(TRY_CAST("computing" AS DOUBLE) * 1000) AS BIGINT)) AS compute_ns,
    sound_size(TRY_CAST(round(TRY_CAST("communication_not_overlapped" AS DOUBLE) * 1000) AS BIGINT)) AS exposed_comm_ns,
    sound_size(TRY_CAST(round(TRY_CAST("overlapped" AS DOUBLE) * 1000) AS BIGINT)) AS overlapped_comm_ns,
    sound_size(TRY_CAST(round(TRY_CAST("communication" AS DOUBLE) * 1000) AS BIGINT)) AS comm_ns,
    sound_size(TRY_CAST(round(TRY_CAST("free" AS DOUBLE) * 1000) AS BIGINT)) AS free_ns,
    sound_size(TRY_CAST(round(TRY_CAST("stage" AS DOUBLE) * 1000) AS BIGINT)) AS stage_ns,
    sound_size(TRY_CAST(round(TRY_CAST("bubble" AS DOUBLE) * 1000) AS BIGINT)) AS bubble_ns,
    sound_size(TRY_CAST(round(TRY_CAST("preparing" AS DOUBLE) * 1000) AS BIGINT)) AS preparing_ns
FROM (
    FROM stub_ascend_db.StepTraceTime
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'StepTraceTime')
);
