-- Kernels whose calls have inputs of other data types than before, by the framework operator that launches them: these types, the part of the
-- kernel's time on each side that is of such calls, and whether there are as many as before. They are the calls of a framework operator with
-- inputs of certain shapes, if it has those shapes on both sides, and none of their lists of types.
-- Depends on c_kernel_sum, side_mean, types_of.
-- Nothing without c_kernel_sum.
WITH exact AS (
    SELECT op, coalesce(host_op, op) AS launcher, input_shapes, input_dtypes, side, divisor, sum(calls) AS calls, sum(ns) AS ns
    FROM c_kernel_sum GROUP BY ALL
), of_kernel AS (
    SELECT op, sum(ns) FILTER (side = 'baseline') AS baseline_ns, sum(ns) FILTER (side = 'new') AS new_ns FROM exact GROUP BY op
), launch AS (
    SELECT launcher, input_shapes, types_of(string_agg(DISTINCT input_dtypes, ';') FILTER (WHERE side = 'baseline')) AS baseline_types,
           types_of(string_agg(DISTINCT input_dtypes, ';') FILTER (WHERE side = 'new')) AS new_types,
           side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls
    FROM exact WHERE input_shapes IS NOT NULL GROUP BY launcher, input_shapes
    HAVING count(input_dtypes) = count(*) AND count(DISTINCT side) = 2 AND baseline_types <> new_types
       AND NOT list_has_any(list(DISTINCT input_dtypes) FILTER (WHERE side = 'baseline'), list(DISTINCT input_dtypes) FILTER (WHERE side = 'new'))
)
SELECT op AS name, launcher, baseline_types, new_types,
       coalesce(sum(ns) FILTER (WHERE side = 'baseline') / nullif(any_value(baseline_ns), 0), 0) AS baseline_part,
       coalesce(sum(ns) FILTER (WHERE side = 'new') / nullif(any_value(new_ns), 0), 0) AS new_part,
       bool_and(abs(baseline_calls - new_calls) <= 0.01 * baseline_calls) AS as_often
FROM exact JOIN launch USING (launcher, input_shapes) JOIN of_kernel USING (op)
GROUP BY op, launcher, baseline_types, new_types ORDER BY ALL;
