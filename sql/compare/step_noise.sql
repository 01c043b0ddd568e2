-- How far the mean of each metric of a time or of work may be off by luck in one run, as its steps show: the standard error, as a fraction of the
-- mean, if the steps of each run are taken by themselves (`alone`), and if those of the same number are taken together (`paired`): what all runs
-- have in common, such as the same prompts, is no luck. Steps that test or save a checkpoint do not count if there are others. The degrees of
-- freedom are `alone_freedom` and `paired_freedom`. Unknown where a run has two steps or fewer, or a mean is not positive.
-- Depends on c_judged, c_metric, c_metric_entry, c_metric_name, in_part.
-- Nothing without c_judged, c_metric_name.
WITH told AS (
    SELECT DISTINCT CAST(name AS metric_name) AS name FROM c_metric_name
    WHERE in_part(CAST(name AS metric_name)) AND (name IN (SELECT name FROM c_metric_entry) OR regexp_matches(name, '^(timing_s/|prometheus/|workload\.)'))
), beside AS (
    SELECT DISTINCT side, run, step FROM c_metric WHERE name IN ('timing_s/testing', 'timing_s/save_checkpoint') AND value > 0
), known AS (
    SELECT j.side, j.run, j.name, j.step, j.value, b.step IS NOT NULL AS tests
    FROM c_judged AS j SEMI JOIN told USING (name) LEFT JOIN beside AS b USING (side, run, step) WHERE in_part(name) AND j.step IS NOT NULL
), plain AS (
    SELECT * FROM known QUALIFY NOT tests OR bool_and(tests) OVER (PARTITION BY side, run, enum_code(name))
), level AS (
    SELECT side, run, name, avg(value ORDER BY step) AS mean, count(*) AS steps FROM plain GROUP BY ALL
), runs AS (
    SELECT name, count(*) FILTER (side = 'baseline') AS before, count(*) FILTER (side = 'new') AS after, sum(steps - 1) AS freedom
    FROM level GROUP BY name HAVING before > 0 AND after > 0 AND min(mean) > 0 AND min(steps) > 2
), off AS (   -- what each step adds to the change of the mean of the runs
    SELECT p.name, p.side, p.run, p.step, l.steps, (p.value / l.mean - 1) / l.steps * CASE WHEN p.side = 'new' THEN 1 / r.after ELSE -1 / r.before END AS part
    FROM plain AS p JOIN level AS l USING (side, run, name) JOIN runs AS r USING (name)
), alone AS (
    SELECT name, sum(part * part * steps / (steps - 1) ORDER BY side, run, step) AS variance FROM off GROUP BY name
), shared AS (
    SELECT name, step, sum(part ORDER BY side, run) AS part FROM off GROUP BY ALL
), paired AS (
    SELECT name, sum(part * part ORDER BY step) AS squares, count(*) AS steps FROM shared GROUP BY name
)
SELECT name, sqrt(a.variance / (1 / r.before + 1 / r.after)) AS alone, CAST(r.freedom AS BIGINT) AS alone_freedom,
       sqrt(p.squares * p.steps / (p.steps - 1) / (1 / r.before + 1 / r.after)) AS paired, p.steps - 1 AS paired_freedom
FROM runs AS r JOIN alone AS a USING (name) JOIN paired AS p USING (name) WHERE isfinite(a.variance) AND isfinite(p.squares) ORDER BY enum_code(name);
