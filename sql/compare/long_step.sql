-- The steps in which a timer takes far longer than in the others, per run: by four standard deviations (from the median absolute deviation),
-- and by a fifth. `steps` and their `amounts` are NULL where there are none. Amounts and means are in seconds; `error` is the standard error of
-- the mean of the others. `first` and `last`: the steps that the run logged at all. Runs of fewer than eight steps tell nothing, nor do those
-- in which all steps would be long: the median of the smallest numbers (5e-324) is 0.
-- Depends on c_judged, c_metric, c_metric_name, in_part.
-- Nothing without c_judged, c_metric, c_metric_name.
WITH timer_name AS (
    SELECT DISTINCT CAST(name AS metric_name) AS name FROM c_metric_name WHERE starts_with(name, 'timing_s/')
), timed AS (
    SELECT side, run, name, step, value, median(value) OVER (PARTITION BY side, run, enum_code(name)) AS usual, count(*) OVER (PARTITION BY side, run, enum_code(name)) AS of_steps
    FROM c_judged SEMI JOIN timer_name USING (name) WHERE in_part(name) AND step IS NOT NULL
), spread AS (
    SELECT *, 1.4826 * median(abs(value - usual)) OVER (PARTITION BY side, run, enum_code(name)) AS deviation FROM timed WHERE of_steps >= 8
), judged AS (
    SELECT *, value - usual > greatest(4 * deviation, 0.2 * usual) AS is_long FROM spread
), logged AS (
    SELECT side, run, name, min(step) AS first, max(step) AS last FROM c_metric WHERE in_part(name) AND value IS NOT NULL AND step >= 0 AND NOT validation GROUP BY ALL
)
SELECT j.side, j.run, j.name, any_value(l.first) AS first, any_value(l.last) AS last, any_value(j.of_steps) AS of_steps,
       list(j.step ORDER BY j.step) FILTER (is_long) AS steps, list(j.value ORDER BY j.step) FILTER (is_long) AS amounts,
       avg(j.value ORDER BY j.step) AS mean, avg(j.value ORDER BY j.step) FILTER (NOT is_long) AS other_mean,
       coalesce(stddev_samp(j.value ORDER BY j.step) FILTER (NOT is_long) / sqrt(count(*) FILTER (NOT is_long)), 0) AS error
FROM judged AS j JOIN logged AS l USING (side, run, name) GROUP BY j.side, j.run, j.name
HAVING count(*) FILTER (NOT is_long) > 0 ORDER BY enum_code(j.name), j.side, j.run;
