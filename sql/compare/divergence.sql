-- For each metric, the first step at which the sides differ: their values (means over runs) are more than 1 % apart, or only one of them is
-- a number. Times and other measures of the machines are left out.
-- Depends on c_metric, c_metric_entry.
WITH per_step AS (
    SELECT name, step, avg(value ORDER BY run) FILTER (WHERE side = 'baseline') AS baseline,
           avg(value ORDER BY run) FILTER (WHERE side = 'new') AS new
    FROM c_metric
    WHERE step IS NOT NULL AND NOT starts_with(name, 'timing_s/') AND name NOT IN (SELECT name FROM c_metric_entry WHERE of_machine)
    GROUP BY name, step HAVING count(DISTINCT side) > 1
)
SELECT name, min(step) FILTER (
           WHERE abs(new - baseline) > 0.01 * greatest(abs(baseline), abs(new)) OR (new IS NULL) <> (baseline IS NULL)
       ) AS first_divergence, count(*) AS steps
FROM per_step GROUP BY name ORDER BY name;
