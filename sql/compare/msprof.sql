-- Section msprof: totals of captures by msprof-analyze's definitions, not divided by steps. The value of a side is the mean over runs of
-- the sum over groups of the mean over members. Names of communication groups contain addresses and times. Therefore groups are matched by
-- their key, and shown under it unless all captures of both sides use the same name.
-- Depends on c_divisor, c_msprof, side_mean.
-- Nothing without c_divisor, c_msprof.
WITH exact AS (   -- totals of text profiles have fractions, so their order is fixed too
    SELECT sheet, depth, CASE WHEN group_key IS NULL THEN name END AS name, group_key, input_shapes, side, divisor, min(ord) AS ord,
           min(name) AS first_label, max(name) AS last_label, sum(calls) AS calls, sum(total_ns ORDER BY run, capture) AS ns
    FROM c_msprof JOIN c_divisor USING (side, run, capture) WHERE domain = 'msprof'
    GROUP BY sheet, depth, CASE WHEN group_key IS NULL THEN name END, group_key, input_shapes, side, divisor
)
SELECT CASE WHEN group_key IS NULL THEN name
            WHEN min(first_label) = max(last_label) AND count(DISTINCT side) = 2 THEN min(first_label) ELSE group_key END AS name,
       sheet, depth, input_shapes, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls
FROM exact GROUP BY sheet, depth, name, group_key, input_shapes
ORDER BY CASE sheet WHEN 'OverallMetrics' THEN 0 WHEN 'KernelCompare' THEN 1 ELSE 2 END,
         coalesce(min(ord) FILTER (WHERE side = 'baseline'), min(ord)), min(ord), 1, input_shapes;
