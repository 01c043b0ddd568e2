-- Texts by id.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on sound_text.
CREATE OR REPLACE TEMP VIEW src_StringIds AS
SELECT
    TRY_CAST("id" AS BIGINT) AS id,
    sound_text("value") AS value,
    "value" IS NOT NULL AND sound_text("value") IS NULL AS undecodable
FROM (
    FROM stub_nsys.StringIds
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'StringIds')
);
