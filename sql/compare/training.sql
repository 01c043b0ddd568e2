-- Number of steps that training logged per run, the first and the last of them, and how many of them a run of the other side logged too.
-- Step 0 is validation before training.
-- Depends on c_metric.
-- Nothing without c_metric.
WITH logged AS (
    SELECT DISTINCT side, run, step FROM c_metric WHERE step IS NOT NULL AND (step <> 0 OR NOT starts_with(name, 'val'))
)
SELECT side, run, count(*) AS steps, min(step) AS first, max(step) AS last, count(*) FILTER (EXISTS (FROM logged AS o WHERE o.side <> l.side AND o.step = l.step)) AS shared
FROM logged AS l GROUP BY ALL ORDER BY side, run;
