-- The few steps in which a timer takes far longer than in the others, per run: by four standard deviations (from the median absolute
-- deviation), and by a fifth. `steps` is NULL where there are none. Means are in seconds; `error` is the
-- standard error of the mean of the others. Runs of fewer than eight steps tell nothing.
-- Depends on c_judged.
-- Nothing without c_judged.
WITH timed AS (
    SELECT side, run, name, step, value, median(value) OVER (PARTITION BY side, run, name) AS usual, count(*) OVER (PARTITION BY side, run, name) AS of_steps
    FROM c_judged WHERE starts_with(name, 'timing_s/') AND step IS NOT NULL
), spread AS (
    SELECT *, 1.4826 * median(abs(value - usual)) OVER (PARTITION BY side, run, name) AS deviation FROM timed WHERE of_steps >= 8
), judged AS (
    SELECT *, value - usual > greatest(4 * deviation, 0.2 * usual) AS is_long FROM spread
)
SELECT side, run, name, min(step) AS first, max(step) AS last, any_value(of_steps) AS of_steps,
       list(step ORDER BY step) FILTER (is_long) AS steps, avg(value ORDER BY step) AS mean,
       avg(value ORDER BY step) FILTER (is_long) AS long_mean, avg(value ORDER BY step) FILTER (NOT is_long) AS other_mean,
       coalesce(stddev_samp(value ORDER BY step) FILTER (NOT is_long) / sqrt(count(*) FILTER (NOT is_long)), 0) AS error
FROM judged GROUP BY side, run, name ORDER BY name, side, run;
