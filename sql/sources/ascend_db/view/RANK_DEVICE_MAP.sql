-- Rank of the process and its devices; -1 is "unset".
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of.
CREATE OR REPLACE TEMP VIEW src_RANK_DEVICE_MAP AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    nullif(TRY_CAST("rankId" AS INTEGER), -1) AS rank,
    nullif(TRY_CAST("deviceId" AS INTEGER), -1) AS device_id
FROM (
    FROM stub_ascend_db.RANK_DEVICE_MAP
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'RANK_DEVICE_MAP')
);
