-- How far the mean of each metric may be off by luck, per run: the standard error over the steps that count, for as many independent steps
-- as the correlation of neighbouring steps leaves. Unknown for two steps or fewer.
-- Depends on c_judged.
-- Nothing without c_judged.
WITH value_of AS (
    SELECT side, run, name, step, value, lag(value) OVER (PARTITION BY side, run, name ORDER BY step) AS before FROM c_judged
), moment AS (
    SELECT side, run, name, count(*) AS steps, stddev_samp(value ORDER BY step) AS deviation,
           corr(value, before ORDER BY step) AS correlation
    FROM value_of GROUP BY ALL
), neighbours AS (
    SELECT *, CASE WHEN isfinite(correlation) THEN least(greatest(correlation, 0), 0.8) ELSE 0 END AS kept FROM moment
)
SELECT side, run, name, deviation / sqrt(steps) * sqrt((1 + kept) / (1 - kept)) AS error
FROM neighbours WHERE steps > 2 ORDER BY name, side, run;
