-- Per metric the first step of both sides whose values (means over runs) are more than 1 % apart. Depends on c_metric.
WITH per_step AS (
    SELECT name, step, avg(value ORDER BY run) FILTER (WHERE side = 'baseline') AS baseline,
           avg(value ORDER BY run) FILTER (WHERE side = 'new') AS new
    FROM c_metric WHERE step IS NOT NULL GROUP BY name, step
)
SELECT name, min(step) FILTER (WHERE abs(new - baseline) > 0.01 * greatest(abs(baseline), abs(new))) AS first_divergence,
       count(*) AS steps
FROM per_step WHERE baseline IS NOT NULL AND new IS NOT NULL GROUP BY name ORDER BY name;
