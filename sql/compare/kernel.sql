-- Section kernels.
-- Depends on c_kernel_keyed, side_mean.
-- Nothing without c_kernel_keyed.
WITH exact AS (
    SELECT op, input_shapes, input_dtypes, phase, host_op, loose, side, divisor, min(category) AS category, sum(calls) AS calls,
           sum(ns) AS ns, max(max_ns) AS max_ns, sum(busy_ns) AS busy_ns,
           sum(gap_ns) AS gap_ns, sum(elements) AS elements
    FROM c_kernel_keyed GROUP BY ALL
)
SELECT op AS name, input_shapes, input_dtypes, phase, host_op, min(category) AS category,
       bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls,
       max(max_ns) FILTER (WHERE side = 'baseline') AS baseline_max_ns, max(max_ns) FILTER (WHERE side = 'new') AS new_max_ns,
       side_mean(busy_ns, divisor, side = 'baseline') AS baseline_busy_ns, side_mean(busy_ns, divisor, side = 'new') AS new_busy_ns,
       side_mean(gap_ns, divisor, side = 'baseline') AS baseline_gap_ns, side_mean(gap_ns, divisor, side = 'new') AS new_gap_ns,
       CASE WHEN loose THEN side_mean(elements, divisor, side = 'baseline') END AS baseline_elements,
       CASE WHEN loose THEN side_mean(elements, divisor, side = 'new') END AS new_elements,
       CASE WHEN baseline_elements > 0 THEN baseline_ns / baseline_elements END AS baseline_ns_per_element,
       CASE WHEN new_elements > 0 THEN new_ns / new_elements END AS new_ns_per_element
FROM exact GROUP BY op, input_shapes, input_dtypes, phase, host_op, loose;
