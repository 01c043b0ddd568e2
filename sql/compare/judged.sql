-- The values of c_metric that count. Validation before training counts only if there is no other step. If a metric has steps
-- without a profiler, only these count. For speed and workload metrics, warm-up steps do not count: those that the run marks as such, else
-- the run's first step (with a profiler or without) if at least three others of the metric remain. The first value of a metric that the run
-- logs later, as that of a test, is no warm-up. For a metric that both sides have, only steps that all runs of both sides logged count (but
-- those that ended early), because later steps come from a better trained model; if these are fewer than half of the steps that some run of each side logged, the latter count. If
-- they share first steps alone, these count: warm-up is not compared with other steps. If they share no step, all steps count.
-- Depends on c_metric, c_metric_entry, in_part, may_tell.
-- Nothing without c_metric.
CREATE TABLE IF NOT EXISTS c_judged (
    side ENUM('baseline', 'new') NOT NULL,
    run INTEGER NOT NULL,
    name metric_name NOT NULL,
    step BIGINT,
    value DOUBLE NOT NULL,
    grade INTEGER NOT NULL    -- 0: without a profiler, 1: with it, 2: warm-up
);
INSERT INTO c_judged
WITH logged AS (
    SELECT side, run, name, bool_and(validation) AS only_validation FROM c_metric WHERE value IS NOT NULL AND in_part(name) GROUP BY ALL
), kind AS (
    SELECT l.*, coalesce(e.of_machine OR e.of_work, may_tell(l.name)) AS speed
    FROM logged AS l LEFT JOIN c_metric_entry AS e USING (side, run, name)
), graded AS (   -- the lower, the better
    SELECT m.side, m.run, m.name, m.step, m.value, m.warmup, k.speed,
           CASE WHEN k.speed AND m.warmup THEN 2 WHEN m.profiled THEN 1 ELSE 0 END AS grade
    FROM c_metric AS m JOIN kind AS k USING (side, run, name)
    WHERE m.value IS NOT NULL AND in_part(m.name) AND (NOT m.validation OR k.only_validation)
), best AS (
    SELECT side, run, name, grade, count(*) AS steps FROM graded GROUP BY side, run, name, grade
    QUALIFY grade = min(grade) OVER (PARTITION BY side, run, enum_code(name))
), started AS (
    SELECT side, run, CASE WHEN profiled THEN 1 ELSE 0 END AS grade, min(step) AS first FROM c_metric WHERE NOT validation GROUP BY ALL
), ranked AS (
    SELECT g.* EXCLUDE (warmup, speed), g.speed AND g.warmup IS NULL AND coalesce(g.step = f.first, FALSE) AS is_first, is_first AND b.steps > 3 AS is_warmup
    FROM graded AS g JOIN best AS b USING (side, run, name, grade) LEFT JOIN started AS f USING (side, run, grade)
), long AS (   -- the others ended early, and are no repetitions (rlcompare/compare/replicates.py)
    SELECT side, run, name FROM best QUALIFY steps >= 0.75 * median(steps) OVER (PARTITION BY side, enum_code(name))
), counted AS (
    SELECT name, count(*) AS runs FROM long GROUP BY name
), met AS (   -- warmup_only: only as warm-up, on one of the sides at least
    SELECT r.name, r.step, NOT (bool_or(r.side = 'baseline' AND NOT r.is_warmup) AND bool_or(r.side = 'new' AND NOT r.is_warmup)) AS warmup_only,
           count(l.name) AS runs
    FROM ranked AS r LEFT JOIN long AS l ON l.side = r.side AND l.run = r.run AND l.name = r.name
    GROUP BY r.name, r.step HAVING bool_or(r.side = 'baseline') AND bool_or(r.side = 'new')
), whole AS (
    SELECT m.name, m.step, m.warmup_only, m.runs = c.runs AS in_all FROM met AS m JOIN counted AS c USING (name)
    QUALIFY in_all OR m.warmup_only
         OR 2 * count_if(in_all AND NOT m.warmup_only) OVER (PARTITION BY enum_code(m.name)) < count_if(NOT m.warmup_only) OVER (PARTITION BY enum_code(m.name))
), shared AS (
    SELECT name, step, warmup_only FROM whole QUALIFY warmup_only = min(warmup_only) OVER (PARTITION BY enum_code(name))
)
SELECT r.side, r.run, r.name, r.step, r.value, CASE WHEN s.warmup_only AND r.is_first THEN 2 ELSE r.grade END
FROM ranked AS r LEFT JOIN shared AS s ON s.name = r.name AND s.step IS NOT DISTINCT FROM r.step
WHERE s.warmup_only OR (NOT r.is_warmup AND (s.name IS NOT NULL OR r.name NOT IN (SELECT DISTINCT name FROM shared)));
