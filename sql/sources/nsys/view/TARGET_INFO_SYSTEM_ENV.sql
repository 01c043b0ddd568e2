-- Properties of the machine. Only the names that a query asks for are used.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on sound_text.
CREATE OR REPLACE TEMP VIEW src_TARGET_INFO_SYSTEM_ENV AS
SELECT
    sound_text("name") AS name,
    sound_text("value") AS value
FROM (
    FROM stub_nsys.TARGET_INFO_SYSTEM_ENV
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'TARGET_INFO_SYSTEM_ENV')
);
