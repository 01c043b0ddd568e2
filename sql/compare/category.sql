-- Section categories.
-- Depends on c_kernel_sum, side_mean.
-- Nothing without c_kernel_sum.
WITH exact AS (
    SELECT category, side, divisor, sum(calls) AS calls, sum(ns) AS ns FROM c_kernel_sum GROUP BY ALL
)
SELECT category AS name, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls
FROM exact GROUP BY category;
