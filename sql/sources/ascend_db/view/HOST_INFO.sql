-- Host. Many machines are called localhost: their number tells them apart.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_text.
CREATE OR REPLACE TEMP VIEW src_HOST_INFO AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    CASE WHEN sound_text("hostName") ILIKE 'localhost%' THEN concat_ws(' ', sound_text("hostName"), sound_text("hostUid"))
         ELSE sound_text("hostName") END AS host
FROM (
    FROM stub_ascend_db.HOST_INFO
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'HOST_INFO')
);
