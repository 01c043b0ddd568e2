-- AI Core counters in long form; integers and reals share the column.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of.
CREATE OR REPLACE TEMP VIEW src_TASK_PMU_INFO AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("globalTaskId" AS BIGINT) AS task_id,
    TRY_CAST("name" AS BIGINT) AS name,
    TRY_CAST("value" AS DOUBLE) AS value
FROM (
    FROM stub_ascend_db.TASK_PMU_INFO
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'TASK_PMU_INFO')
);
