-- For each metric, the first step from which the sides stay apart: their values (means over runs) are more than 1 % apart, or only one of
-- them is a number, in that step, in nine of ten steps from there on, and in nine of the ten steps that begin with it. So a step that differs
-- by luck is none. Times and other measures of the machines are left out.
-- Depends on c_metric, c_metric_entry.
WITH per_step AS (
    SELECT name, step, avg(value ORDER BY run) FILTER (WHERE side = 'baseline') AS baseline,
           avg(value ORDER BY run) FILTER (WHERE side = 'new') AS new
    FROM c_metric
    WHERE step IS NOT NULL AND NOT regexp_matches(name, '^(timing_s|prometheus)/') AND name NOT IN (SELECT name FROM c_metric_entry WHERE of_machine)
    GROUP BY name, step HAVING count(DISTINCT side) > 1
), compared AS (
    SELECT name, step,
           coalesce(abs(new - baseline) > 0.01 * greatest(abs(baseline), abs(new)), (new IS NULL) <> (baseline IS NULL)) AS apart
    FROM per_step
), counted AS (
    SELECT name, step, apart, count(*) FILTER (apart) OVER onward >= 0.9 * count(*) OVER onward
               AND count(*) FILTER (apart) OVER soon >= 0.9 * count(*) OVER soon AS stays
    FROM compared
    WINDOW onward AS (PARTITION BY name ORDER BY step ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING),
           soon AS (PARTITION BY name ORDER BY step ROWS BETWEEN CURRENT ROW AND 9 FOLLOWING)
)
SELECT name, min(step) FILTER (apart AND stays) AS first_divergence, count(*) AS steps FROM counted GROUP BY name ORDER BY name;
