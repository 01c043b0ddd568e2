-- Texts by id; values are not unique, so group by value, never by id.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_text.
CREATE OR REPLACE TEMP VIEW src_STRING_IDS AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("id" AS BIGINT) AS id,
    sound_text("value") AS value,
    "value" IS NOT NULL AND sound_text("value") IS NULL AS undecodable
FROM (
    FROM stub_ascend_db.STRING_IDS
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'STRING_IDS')
);
