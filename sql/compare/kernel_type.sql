-- Section kernel_types.
-- Depends on c_kernel_sum, side_mean.
-- Nothing without c_kernel_sum.
WITH exact AS (
    SELECT op, core_type, side, divisor, sum(calls) AS calls, sum(ns) AS ns, max(max_ns) AS max_ns FROM c_kernel_sum GROUP BY ALL
)
SELECT op AS name, core_type, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls,
       max(max_ns) FILTER (WHERE side = 'baseline') AS baseline_max_ns, max(max_ns) FILTER (WHERE side = 'new') AS new_max_ns
FROM exact GROUP BY op, core_type;
