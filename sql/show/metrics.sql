-- Training metrics: mean, spread, extremes and last value. If there are steps without a profiler, only they count. Times leave out warm-up:
-- the steps that the run marks as such, else the run's first step (as in compare/judged.sql). Validation before training is left out: step 0, unless
-- the run trained in it.
-- Variables: training_timers.
-- Depends on metric.
WITH known AS (
    SELECT *, regexp_matches(name, '^(timing_s|timing_per_token_ms|perf)/') AS speed FROM metric WHERE abs(value) <= 1e100
    QUALIFY step IS DISTINCT FROM 0 OR max(step) OVER (PARTITION BY name) = 0
        OR (NOT starts_with(name, 'val') AND EXISTS (FROM metric WHERE step = 0 AND list_contains(getvariable('training_timers'), name)))
), graded AS (
    SELECT *, CASE WHEN speed AND warmup THEN 2 WHEN profiled THEN 1 ELSE 0 END AS grade FROM known
), best AS (
    SELECT * FROM graded QUALIFY grade = min(grade) OVER (PARTITION BY name)
), started AS (
    SELECT coalesce(profiled, FALSE) AS profiled, min(step) AS first FROM known GROUP BY ALL
), kept AS (
    SELECT b.* FROM best AS b LEFT JOIN started AS s ON s.profiled = coalesce(b.profiled, FALSE)
    QUALIFY NOT (speed AND warmup IS NULL AND coalesce(step = first, FALSE) AND count(*) OVER (PARTITION BY name) > 3)
)
SELECT name, avg(value ORDER BY step) AS mean, stddev_samp(value ORDER BY step) AS spread, min(value) AS least, max(value) AS most,
       arg_max(value, step) AS last, count(*) AS steps
FROM kept GROUP BY name
ORDER BY name NOT LIKE 'timing_s/%', NOT contains(name, 'rollout_is') AND NOT contains(name, 'mismatch'), name;
