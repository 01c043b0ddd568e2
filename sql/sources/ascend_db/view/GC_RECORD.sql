-- Garbage collections.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_GC_RECORD AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    sound_ns(TRY_CAST("startNs" AS BIGINT)) AS start_ns,
    sound_ns(TRY_CAST("endNs" AS BIGINT)) AS end_ns,
    TRY_CAST("globalTid" AS BIGINT) AS thread
FROM (
    FROM stub_ascend_db.GC_RECORD
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'GC_RECORD')
);
