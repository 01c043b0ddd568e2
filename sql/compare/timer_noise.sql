-- How far the mean of each metric that is known may be off by luck, per run: the standard error over the steps that count, for as many independent steps
-- as the correlation of neighbouring steps leaves. The line through the steps is no luck: what it rises by, the steps of the other side do as
-- well, or there is a reason for it. Too few steps tell no line from luck. Unknown for two steps or fewer.
-- Depends on c_judged, c_metric_entry, c_metric_name, in_part, may_tell.
-- Nothing without c_judged, c_metric_name.
WITH told AS (   -- those that may explain a time
    SELECT DISTINCT CAST(name AS metric_name) AS name FROM c_metric_name
    WHERE in_part(CAST(name AS metric_name)) AND (name IN (SELECT name FROM c_metric_entry) OR may_tell(name))
), placed AS (   -- counted from the first step: a line through large numbers is not exact
    SELECT side, run, name, step, value, step - min(step) OVER (PARTITION BY side, run, enum_code(name)) AS place
    FROM c_judged SEMI JOIN told USING (name) WHERE in_part(name)
), line AS (
    SELECT side, run, name, count(step) AS steps, regr_slope(value, place ORDER BY step) AS slope FROM placed GROUP BY ALL
), fitted AS (
    SELECT side, run, name, CASE WHEN steps >= 24 AND isfinite(slope) THEN slope END AS slope FROM line
), rest AS (
    SELECT side, run, name, step, value - coalesce(slope * place, 0) AS value, CASE WHEN slope IS NULL THEN 1 ELSE 2 END AS fixed
    FROM placed JOIN fitted USING (side, run, name)
), value_of AS (
    SELECT *, lag(value) OVER (PARTITION BY side, run, enum_code(name) ORDER BY step) AS before FROM rest
), moment AS (
    SELECT side, run, name, count(*) AS steps, any_value(fixed) AS fixed, stddev_samp(value ORDER BY step) AS deviation,
           corr(value, before ORDER BY step) AS correlation
    FROM value_of GROUP BY ALL
), neighbours AS (
    SELECT *, CASE WHEN isfinite(correlation) THEN least(greatest(correlation, 0), 0.8) ELSE 0 END AS kept FROM moment
)
SELECT side, run, name, deviation * sqrt((steps - 1) / (steps - fixed)) / sqrt(steps) * sqrt((1 + kept) / (1 - kept)) AS error
FROM neighbours WHERE steps > 2 ORDER BY enum_code(name), side, run;
