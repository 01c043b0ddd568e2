-- The values of c_metric that count. Step 0 is validation before training; it counts only if there is no other step. If a metric has steps
-- without a profiler, only these count. For speed and workload metrics, warm-up steps do not count: those that the run marks as such, else
-- the first step if at least three others remain. For a metric that both sides have, only steps that both sides logged count, because later
-- steps come from a better trained model. If they share no step, all steps count.
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
FROM warm AS w LEFT JOIN shared AS s ON s.name = w.name AND s.step IS NOT DISTINCT FROM w.step
WHERE s.name IS NOT NULL OR w.name NOT IN (SELECT name FROM shared);
