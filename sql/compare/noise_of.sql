-- noise_of(values_of, fewest): how far the mean of each metric may be off by luck in one run, as its steps show: the standard error, as a fraction of
-- the mean, if the steps of each run are taken by themselves (`alone`), and if those of the same number are taken together (`paired`): what all
-- runs have in common, such as the same prompts, is no luck. The degrees of freedom are `alone_freedom` and `paired_freedom`. Unknown where a run
-- has fewer than `fewest` steps, or a mean is not positive. `values_of` names a table with the columns name, side, run, step and value.
-- Run by name: once, before all others.
CREATE OR REPLACE MACRO noise_of(values_of, fewest) AS TABLE
WITH level AS (
    SELECT side, run, name, avg(value ORDER BY step) AS mean, count(*) AS steps FROM query_table(values_of) GROUP BY ALL
), runs AS (
    SELECT name, count(*) FILTER (side = 'baseline') AS before, count(*) FILTER (side = 'new') AS after, sum(steps - 1) AS freedom
    FROM level GROUP BY name HAVING before > 0 AND after > 0 AND min(mean) > 0 AND min(steps) >= fewest
), off AS (   -- what each step adds to the change of the mean of the runs
    SELECT p.name, p.side, p.run, p.step, l.steps, (p.value / l.mean - 1) / l.steps * CASE WHEN p.side = 'new' THEN 1 / r.after ELSE -1 / r.before END AS part
    FROM query_table(values_of) AS p JOIN level AS l USING (side, run, name) JOIN runs AS r USING (name)
), alone AS (
    SELECT name, sum(part * part * steps / (steps - 1) ORDER BY side, run, step) AS variance FROM off GROUP BY name
), shared AS (
    SELECT name, step, sum(part ORDER BY side, run) AS part FROM off GROUP BY ALL
), paired AS (
    SELECT name, sum(part * part ORDER BY step) AS squares, count(*) AS steps FROM shared GROUP BY name
)
SELECT name, sqrt(a.variance / (1 / r.before + 1 / r.after)) AS alone, CAST(r.freedom AS BIGINT) AS alone_freedom,
       sqrt(p.squares * p.steps / (p.steps - 1) / (1 / r.before + 1 / r.after)) AS paired, p.steps - 1 AS paired_freedom
FROM runs AS r JOIN alone AS a USING (name) JOIN paired AS p USING (name) WHERE isfinite(a.variance) AND isfinite(p.squares);
