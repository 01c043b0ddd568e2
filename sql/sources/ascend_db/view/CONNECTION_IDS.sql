-- Links from framework rows to CANN calls and tasks, one to many.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of.
CREATE OR REPLACE TEMP VIEW src_CONNECTION_IDS AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("id" AS BIGINT) AS id,
    nullif(TRY_CAST("connectionId" AS BIGINT), 4294967295) AS connection_id
FROM (
    FROM stub_ascend_db.CONNECTION_IDS
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'CONNECTION_IDS')
);
