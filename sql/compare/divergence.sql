-- For each metric, the first step from which the sides stay apart: their values (means over runs) are more than 1 % apart, or only one of
-- them is a number, in this step, in the next one, and from there on in all but one of any ten neighbouring steps. So a step that differs by
-- luck is none. Times and other measures of the machines are left out.
-- Depends on c_metric, c_metric_entry, c_metric_name, in_part.
-- Nothing without c_metric, c_metric_name.
WITH told AS (
    SELECT DISTINCT CAST(name AS metric_name) AS name FROM c_metric_name
    WHERE in_part(CAST(name AS metric_name)) AND NOT regexp_matches(name, '^(timing_s|prometheus)/') AND name NOT IN (SELECT name FROM c_metric_entry WHERE of_machine)
), per_step AS (   -- the order of summation may change the last bit of a mean, which is no matter here
    SELECT name, step, avg(value) FILTER (side = 'baseline') AS baseline, avg(value) FILTER (side = 'new') AS new
    FROM c_metric SEMI JOIN told USING (name) WHERE step IS NOT NULL AND in_part(name)
    GROUP BY name, step HAVING bool_or(side = 'baseline') AND bool_or(side = 'new')
), compared AS (
    SELECT name, step,
           coalesce(abs(new - baseline) > 0.01 * greatest(abs(baseline), abs(new)), (new IS NULL) <> (baseline IS NULL)) AS apart
    FROM per_step
), looked AS (
    SELECT name, step,
           count(CASE WHEN NOT apart THEN 1 END) OVER (PARTITION BY enum_code(name) ORDER BY step ROWS BETWEEN CURRENT ROW AND 9 FOLLOWING) > 1 AS near,
           count(CASE WHEN NOT apart THEN 1 END) OVER (PARTITION BY enum_code(name) ORDER BY step ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) = 0 AS apart
    FROM compared
), last AS (
    SELECT name, count(*) AS steps, max(step) FILTER (near) AS near FROM looked GROUP BY name
)
SELECT l.name, min(k.step) FILTER (k.apart AND (l.near IS NULL OR k.step > l.near)) AS first_divergence, any_value(l.steps) AS steps
FROM last AS l JOIN looked AS k USING (name) GROUP BY l.name ORDER BY enum_code(l.name);
