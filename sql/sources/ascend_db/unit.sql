-- AI Core counters of kernels, in millionths: which used the cube unit, how long its units worked, hits and misses of the second-level cache. SQLite
-- filters the rows, because they are few among millions, and handing over the others takes longer than reading them. The ids are numbers, so no text of
-- a profile becomes part of a query.
-- Variables: capture_column.
-- Depends on capture_of, src_TASK_PMU_INFO, text_by_id, unit_of.
-- Nothing without text_by_id.
-- Runs after forget_framework.
CREATE OR REPLACE TEMP TABLE unit_name AS
SELECT * FROM (
    SELECT capture, id, unit_of(value) AS unit, value IN ('aic_total_time', 'aic_mac_time') AS of_cube FROM text_by_id WHERE length(value) < 40
) WHERE unit IS NOT NULL OR of_cube;
-- SQLite compares a few numbers one by one faster than it searches a list, and makes a list of ORs.
SET VARIABLE is_of_unit = (
    SELECT CASE WHEN count(*) > 16 THEN 'name IN (' || string_agg(id, ', ') || ')' ELSE 'CASE name ' || string_agg('WHEN ' || id || ' THEN TRUE', ' ') || ' END' END
    FROM (SELECT DISTINCT id FROM unit_name WHERE id IS NOT NULL)
);
CREATE OR REPLACE TEMP TABLE unit AS
SELECT v.capture, v.task_id, bool_or(n.of_cube) AS is_cube, sum(v.millionths) FILTER (WHERE n.unit = 'cube') AS cube,
       max(v.millionths) FILTER (WHERE n.unit = 'load') AS load,
       sum(v.millionths) FILTER (WHERE n.unit = 'l2_hit') AS l2_hits, sum(v.millionths) FILTER (WHERE n.unit = 'l2_miss') AS l2_misses
FROM (
    SELECT capture_of(rlcompare_capture) AS capture, TRY_CAST(task_id AS BIGINT) AS task_id, TRY_CAST(name AS BIGINT) AS name, TRY_CAST(millionths AS BIGINT) AS millionths
    FROM sqlite_query('profile_TASK_PMU_INFO', 'SELECT ' || getvariable('capture_column') || ' AS rlcompare_capture, globalTaskId AS task_id, name, CAST(value * 1000000 AS INTEGER) AS millionths FROM TASK_PMU_INFO WHERE '
        || coalesce(getvariable('is_of_unit'), 'FALSE') || ' AND value <> 0 AND typeof(value) IN (''integer'', ''real'')')
) AS v JOIN unit_name AS n ON n.capture = v.capture AND n.id = v.name
GROUP BY v.capture, v.task_id;
SET VARIABLE has_pmu = EXISTS (SELECT 1 FROM src_TASK_PMU_INFO);
INSERT INTO stage_unit
SELECT capture, task_id, cube / 1e6, load / 1e6, CASE WHEN l2_hits > 0 THEN l2_hits / (l2_hits + coalesce(l2_misses, 0)) WHEN l2_misses > 0 THEN 0 END
FROM unit WHERE coalesce(cube, load, l2_hits, l2_misses) IS NOT NULL;
