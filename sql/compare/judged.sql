-- The values of c_metric that count. Step 0 is validation before training; it counts only if there is no other step. If a metric has steps
-- without a profiler, only these count. For speed and workload metrics, warm-up steps do not count: those that the run marks as such, else
-- the first step if at least three others remain. For a metric that both sides have, only steps that both sides logged count, because later
-- steps come from a better trained model. If they share no step, all steps count.
-- Depends on c_metric, c_metric_entry.
CREATE TABLE c_judged AS
WITH known AS (
    SELECT m.*, coalesce(e.of_machine OR e.of_work, regexp_matches(m.name, '^(timing_s/|prometheus/|workload\.)')) AS speed
    FROM c_metric AS m LEFT JOIN c_metric_entry AS e ON e.side = m.side AND e.run = m.run AND e.name = m.name
    WHERE m.value IS NOT NULL
    QUALIFY m.step IS DISTINCT FROM 0 OR max(m.step) OVER (PARTITION BY m.side, m.run, m.name) = 0
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
