-- Kernels that used the cube unit: a PMU time is not zero. SQLite filters the rows, because they are few among millions, and handing over
-- the others takes longer than reading them. The ids are numbers, so no text of a profile becomes part of a query.
-- Variables: capture_column.
-- Depends on capture_of, src_TASK_PMU_INFO, text_by_id.
-- Runs after forget_framework.
SET VARIABLE cube_times = (SELECT string_agg(id, ', ') FROM text_by_id WHERE value IN ('aic_total_time', 'aic_mac_time'));
CREATE OR REPLACE TEMP TABLE cube AS
SELECT DISTINCT capture_of(rlcompare_capture) AS capture, TRY_CAST(task_id AS BIGINT) AS task_id FROM sqlite_query('profile_TASK_PMU_INFO', 'SELECT ' || getvariable('capture_column') || ' AS rlcompare_capture, globalTaskId AS task_id FROM TASK_PMU_INFO WHERE name IN ('
    || coalesce(getvariable('cube_times'), '') || ') AND value <> 0 AND typeof(value) IN (''integer'', ''real'')');
SET VARIABLE has_pmu = EXISTS (SELECT 1 FROM src_TASK_PMU_INFO);
