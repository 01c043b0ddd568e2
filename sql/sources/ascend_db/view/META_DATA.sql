-- Schema version, user metadata and an environment dump.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_text.
CREATE OR REPLACE TEMP VIEW src_META_DATA AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    sound_text("name") AS name,
    sound_text("value") AS value
FROM (
    FROM stub_ascend_db.META_DATA
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'META_DATA')
);
