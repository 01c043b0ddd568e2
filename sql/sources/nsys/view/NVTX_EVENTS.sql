-- NVTX: marks (34), ranges of a thread (59) and of a process (60), names of domains (75), and more. A text is stored here, or by its id. So is
-- the data attached to the event, if nsys export wrote it (--include-json).
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: nsys_epoch_ns, sqlite_db.
-- Depends on nsys_pid, sound_ns, sound_text.
CREATE OR REPLACE TEMP VIEW src_NVTX_EVENTS AS
SELECT
    sound_ns(TRY(TRY_CAST("start" AS BIGINT) + getvariable('nsys_epoch_ns'))) AS start_ns,
    sound_ns(TRY(TRY_CAST("end" AS BIGINT) + getvariable('nsys_epoch_ns'))) AS end_ns,
    TRY_CAST("eventType" AS INTEGER) AS event_type,
    nullif(sound_text("text"), '') AS "text",
    TRY_CAST("textId" AS BIGINT) AS text_id,
    nsys_pid(TRY_CAST("globalTid" AS BIGINT)) AS pid,
    TRY_CAST("globalTid" AS BIGINT) AS thread,
    TRY_CAST("domainId" AS BIGINT) AS domain_id,
    sound_text("jsonText") AS json,
    TRY_CAST("jsonTextId" AS BIGINT) AS json_id
FROM (
    FROM stub_nsys.NVTX_EVENTS
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'NVTX_EVENTS')
);
