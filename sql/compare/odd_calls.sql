-- Calls of each operator that take far longer than the others of their kind in the same step, per step: their number, and by how much longer.
-- Depends on c_kernel_sum, side_mean.
-- Nothing without c_kernel_sum.
WITH exact AS (
    SELECT op, side, divisor, sum(odd_calls) AS calls, sum(odd_ns) AS ns FROM c_kernel_sum WHERE odd_calls > 0 GROUP BY ALL
)
SELECT op AS name, coalesce(side_mean(calls, divisor, side = 'baseline'), 0) AS baseline_calls, coalesce(side_mean(calls, divisor, side = 'new'), 0) AS new_calls,
       coalesce(side_mean(ns, divisor, side = 'baseline'), 0) AS baseline_ns, coalesce(side_mean(ns, divisor, side = 'new'), 0) AS new_ns
FROM exact GROUP BY op ORDER BY op;
