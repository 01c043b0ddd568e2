-- Call stacks.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of.
CREATE OR REPLACE TEMP VIEW src_PYTORCH_CALLCHAINS AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("id" AS BIGINT) AS id,
    TRY_CAST("stack" AS BIGINT) AS stack,
    TRY_CAST("stackDepth" AS INTEGER) AS depth
FROM (
    FROM stub_ascend_db.PYTORCH_CALLCHAINS
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'PYTORCH_CALLCHAINS')
);
