-- Tasks of collectives for section collectives, by kind and name.
-- Depends on c_divisor, c_task, c_uneven, side_mean.
-- Nothing without c_divisor, c_task.
WITH exact AS (
    SELECT kind, name, side, divisor, sum(calls) AS calls, sum(sum_ns) AS ns, sum(size_bytes) AS bytes
    FROM c_task JOIN c_divisor USING (side, run, capture) WHERE domain = 'task' AND NOT EXISTS (FROM c_uneven WHERE what = 'collective_tasks') GROUP BY ALL
)
SELECT kind || ' / ' || coalesce(name, '(unnamed)') AS name, CAST(NULL AS VARCHAR) AS group_key, coalesce(name, '(unnamed)') AS task,
       bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls,
       side_mean(bytes, divisor, side = 'baseline') AS baseline_bytes, side_mean(bytes, divisor, side = 'new') AS new_bytes
FROM exact GROUP BY ALL;
