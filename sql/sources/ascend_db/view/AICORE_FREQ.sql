-- AI Core frequency. timestampNs is NUMERIC: read as text, because DOUBLE loses nanoseconds.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_AICORE_FREQ AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("deviceId" AS INTEGER) AS device_id,
    sound_ns(TRY_CAST("timestampNs" AS BIGINT)) AS ts_ns,
    TRY_CAST("freq" AS DOUBLE) AS mhz
FROM (
    FROM stub_ascend_db.AICORE_FREQ
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'AICORE_FREQ')
);
