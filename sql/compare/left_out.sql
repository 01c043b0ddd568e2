-- How many of the steps that a run timed count for its speed (c_judged), and why the others do not. The first step without a profiler, if
-- left out, is warm-up. The rest have no counterpart: the other side has no step of that number, or does not count it.
-- Depends on c_judged, c_metric.
-- Nothing without c_metric.
WITH logged AS (
    SELECT m.side, m.run, m.step, m.profiled, m.warmup, j.step IS NOT NULL AS counts
    FROM c_metric AS m LEFT JOIN (FROM c_judged WHERE name = 'timing_s/step') AS j ON j.side = m.side AND j.run = m.run AND j.step = m.step
    WHERE m.name = 'timing_s/step' AND m.value IS NOT NULL AND m.step IS NOT NULL AND NOT m.validation
), graded AS (
    SELECT *, step = min(step) FILTER (NOT profiled AND warmup IS NULL) OVER (PARTITION BY side, run) AS is_first FROM logged
)
SELECT side, run, count(*) AS steps, count(*) FILTER (counts) AS counted,
       count(*) FILTER (NOT counts AND (warmup OR (is_first AND NOT profiled))) AS warmup,
       count(*) FILTER (NOT counts AND profiled AND warmup IS NOT TRUE) AS profiled,
       count(*) FILTER (NOT counts AND NOT profiled AND warmup IS NOT TRUE AND is_first IS NOT TRUE) AS unshared
FROM graded GROUP BY side, run HAVING bool_or(counts) AND NOT bool_and(counts) ORDER BY side, run;
