-- One value per run and metric: the mean over its unprofiled steps where there are any, else over all. Speed is not judged on the first
-- (warm-up) step where three or more are left. `invalid` counts steps whose value was not a number. Depends on c_metric.
WITH judged AS (
    SELECT *, bool_or(NOT profiled AND value IS NOT NULL) OVER (PARTITION BY side, run, name) AS has_unprofiled FROM c_metric
), kept AS (
    SELECT *, row_number() OVER (PARTITION BY side, run, name ORDER BY step) AS place, count(*) OVER (PARTITION BY side, run, name) AS steps
    FROM judged WHERE value IS NOT NULL AND (NOT profiled OR NOT has_unprofiled)
), value_of AS (
    SELECT side, run, name, avg(value ORDER BY step) AS value, stddev_samp(value ORDER BY step) AS deviation, count(*) AS steps
    FROM kept
    WHERE NOT (place = 1 AND steps > 3 AND regexp_matches(name, '^(timing_s|timing_per_token_ms|perf)/'))
    GROUP BY ALL
)
SELECT n.side, n.run, n.name, v.value, v.deviation, v.steps, n.invalid
FROM (SELECT side, run, name, count(*) FILTER (WHERE value IS NULL) AS invalid FROM c_metric GROUP BY ALL) AS n
LEFT JOIN value_of AS v USING (side, run, name)
ORDER BY n.name, n.side, n.run;
