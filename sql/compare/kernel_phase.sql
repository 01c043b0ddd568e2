-- Time of each operator's kernels by phase.
-- Depends on c_kernel_sum, side_mean.
WITH exact AS (
    SELECT op, phase, side, divisor, sum(ns) AS ns FROM c_kernel_sum WHERE phase IS NOT NULL GROUP BY ALL
)
SELECT op, phase, coalesce(side_mean(ns, divisor, side = 'baseline'), 0) AS baseline_ns, coalesce(side_mean(ns, divisor, side = 'new'), 0) AS new_ns
FROM exact GROUP BY op, phase ORDER BY op, phase;
