-- HBM bandwidth, bytes per second.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_HBM AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("deviceId" AS INTEGER) AS device_id,
    sound_ns(TRY_CAST("timestampNs" AS BIGINT)) AS ts_ns,
    TRY_CAST("bandwidth" AS DOUBLE) AS bandwidth,
    TRY_CAST("type" AS BIGINT) AS type
FROM (
    FROM stub_ascend_db.HBM
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'HBM')
);
