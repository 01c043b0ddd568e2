-- Start of the session. All other times are relative to it.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on sound_ns.
CREATE OR REPLACE TEMP VIEW src_TARGET_INFO_SESSION_START_TIME AS
SELECT
    sound_ns(TRY_CAST("utcEpochNs" AS BIGINT)) AS epoch_ns
FROM (
    FROM stub_nsys.TARGET_INFO_SESSION_START_TIME
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'TARGET_INFO_SESSION_START_TIME')
);
