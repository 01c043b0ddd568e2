-- The GPUs of the machine.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on sound_text.
CREATE OR REPLACE TEMP VIEW src_TARGET_INFO_GPU AS
SELECT
    TRY_CAST("id" AS INTEGER) AS id,
    sound_text("name") AS name
FROM (
    FROM stub_nsys.TARGET_INFO_GPU
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'TARGET_INFO_GPU')
);
