-- Number of kernels per step in each phase of an RL step, or of the user's own, on each side.
-- Depends on c_kernel_sum, side_mean.
-- Nothing without c_kernel_sum.
WITH exact AS (SELECT phase, side, divisor, sum(calls) AS calls FROM c_kernel_sum WHERE phase IS NOT NULL GROUP BY ALL)
SELECT phase AS name, side_mean(calls, divisor, side = 'baseline') AS baseline, side_mean(calls, divisor, side = 'new') AS new
FROM exact GROUP BY phase ORDER BY phase;
