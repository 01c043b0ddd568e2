-- The values of c_metric that count: of steps without a profiler where there are any, else of all. Of speed, and of the workload that stands
-- beside it, neither warm-up steps count: those that the run names, else the first step where three or more are left. Of a metric that both
-- sides have, steps that only one of them logged do not count, unless they share none: later steps are of a better trained model. Step 0
-- is validation before training: it counts where there is nothing else.
-- Depends on c_metric.
CREATE TABLE c_judged AS
WITH known AS (
    SELECT *, regexp_matches(name, '^(timing_s|timing_per_token_ms|perf|response_length|prompt_length)/|^workload\.') AS speed
    FROM c_metric WHERE value IS NOT NULL
    QUALIFY step IS DISTINCT FROM 0 OR max(step) OVER (PARTITION BY side, run, name) = 0
), graded AS (   -- the lower, the better
    SELECT *, CASE WHEN speed AND warmup THEN 2 WHEN profiled THEN 1 ELSE 0 END AS grade FROM known
), kept AS (
    SELECT * FROM graded QUALIFY grade = min(grade) OVER (PARTITION BY side, run, name)
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY side, run, name ORDER BY step) AS place, count(*) OVER (PARTITION BY side, run, name) AS steps
    FROM kept
), warm AS (
    SELECT * FROM placed WHERE NOT (speed AND warmup IS NULL AND place = 1 AND steps > 3)
), shared AS (
    SELECT name, step FROM warm GROUP BY name, step HAVING count(DISTINCT side) > 1
)
SELECT w.side, w.run, w.name, w.step, w.value, w.grade
FROM warm AS w LEFT JOIN shared AS s ON s.name = w.name AND s.step = w.step
WHERE s.name IS NOT NULL OR w.name NOT IN (SELECT name FROM shared);
