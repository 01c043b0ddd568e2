-- What may tell why an operator is slower or faster: the formats of its inputs, the blocks that it ran on, and what AI Core counted, per exact
-- shapes of a side. Only of operators with formats, blocks or counters. Operators that are matched loosely and have more than 32
-- shapes have the pattern of their shapes.
-- Depends on c_kernel_keyed, side_mean.
-- Nothing without c_kernel_keyed.
WITH shaped AS (
    SELECT *, CASE WHEN loose AND op IN (SELECT op FROM c_kernel_keyed GROUP BY op HAVING count(DISTINCT exact_shapes) > 32) THEN input_shapes
                   ELSE exact_shapes END AS shapes
    FROM c_kernel_keyed
    WHERE op IN (SELECT op FROM c_kernel_keyed WHERE coalesce(input_formats, '') <> '' OR coalesce(blocks, counted_ns, l2_counted_ns) IS NOT NULL)
), exact AS (
    SELECT op, shapes, exact_dtypes AS dtypes, input_formats AS formats, side, divisor, coalesce(bool_or(contains(work, 'gemm')), FALSE) AS gemm,
           sum(calls) AS calls, sum(ns) AS ns, max(blocks) AS blocks, sum(counted_ns) AS counted_ns, sum(cube_ns) AS cube_ns,
           sum(load_ns) AS load_ns, sum(l2_counted_ns) AS l2_counted_ns, sum(l2_hit_ns) AS l2_hit_ns
    FROM shaped GROUP BY ALL
)
SELECT op AS name, side, shapes AS input_shapes, dtypes AS input_dtypes, formats AS input_formats, bool_or(gemm) AS gemm,
       side_mean(calls, divisor, TRUE) AS calls, side_mean(ns, divisor, TRUE) AS ns, max(blocks) AS blocks,
       side_mean(counted_ns, divisor, TRUE) AS counted_ns, side_mean(cube_ns, divisor, TRUE) AS cube_ns,
       side_mean(load_ns, divisor, TRUE) AS load_ns, side_mean(l2_counted_ns, divisor, TRUE) AS l2_counted_ns,
       side_mean(l2_hit_ns, divisor, TRUE) AS l2_hit_ns
FROM exact GROUP BY op, side, shapes, dtypes, formats ORDER BY ALL;
