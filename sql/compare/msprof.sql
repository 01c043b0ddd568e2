-- Section msprof: totals of captures in msprof-analyze's definitions, not divided by steps: the mean over runs of the sum over groups of the
-- mean over members. Depends on c_msprof, c_divisor.
WITH exact AS (   -- totals of text profiles have fractions, so their order is fixed too
    SELECT sheet, depth, name, input_shapes, side, divisor, min(ord) AS ord, sum(calls) AS calls, sum(total_ns ORDER BY run, capture) AS ns
    FROM c_msprof JOIN c_divisor USING (side, run, capture) WHERE domain = 'msprof' GROUP BY ALL
)
SELECT name, sheet, depth, input_shapes, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls
FROM exact GROUP BY sheet, depth, name, input_shapes
ORDER BY CASE sheet WHEN 'OverallMetrics' THEN 0 WHEN 'KernelCompare' THEN 1 ELSE 2 END,
         coalesce(min(ord) FILTER (WHERE side = 'baseline'), min(ord)), min(ord), name, input_shapes;
