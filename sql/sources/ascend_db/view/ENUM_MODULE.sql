-- Names by number.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_text.
CREATE OR REPLACE TEMP VIEW src_ENUM_MODULE AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("id" AS BIGINT) AS id,
    sound_text("name") AS name
FROM (
    FROM stub_ascend_db.ENUM_MODULE
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'ENUM_MODULE')
);
