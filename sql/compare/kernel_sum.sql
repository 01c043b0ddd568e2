-- Kernels of both sides, with exact sums per divisor. The key is the operator type and the input shapes. If one side has no types (Level0),
-- the key is the kernel's name alone, on both sides; if one side has no shapes, it is the operator type alone. What only some ranks have is as if
-- none had it, and so are the shapes where some kernels lost theirs.
-- Depends on c_divisor, c_kernel, c_lost, c_uneven, sum_if_known.
-- Nothing without c_divisor, c_kernel.
CREATE TABLE c_kernel_sum AS
WITH untyped AS (
    SELECT side FROM c_kernel GROUP BY side HAVING count(op_type) = 0 UNION ALL SELECT side FROM c_uneven WHERE what = 'kernel_types'
), shapeless AS (
    SELECT side FROM c_kernel GROUP BY side HAVING count(op_type) = 0 OR count(input_shapes) = 0
    UNION ALL SELECT side FROM c_uneven WHERE what IN ('kernel_types', 'kernel_shapes')
    UNION ALL SELECT side FROM c_lost WHERE what = 'lost_names'
), coreless AS (
    SELECT side FROM c_kernel GROUP BY side HAVING count(core_type) = 0 UNION ALL SELECT side FROM c_uneven WHERE what = 'kernel_cores'
), phaseless AS (
    SELECT side FROM c_kernel GROUP BY side HAVING count(phase) = 0 UNION ALL SELECT side FROM c_uneven WHERE what = 'kernel_phases'
), hostless AS (
    SELECT side FROM c_kernel GROUP BY side HAVING count(host_op) = 0 UNION ALL SELECT side FROM c_uneven WHERE what = 'kernel_hosts'
)
SELECT side, divisor, category,
       coalesce(CASE WHEN NOT EXISTS (FROM untyped) THEN op_type END, name, '(unknown)') AS op,
       CASE WHEN NOT EXISTS (FROM shapeless) THEN input_shapes END AS input_shapes,
       CASE WHEN NOT EXISTS (FROM shapeless) THEN input_dtypes END AS input_dtypes,
       CASE WHEN NOT EXISTS (FROM coreless) THEN core_type END AS core_type,
       CASE WHEN NOT EXISTS (FROM phaseless) THEN phase END AS phase,
       CASE WHEN NOT EXISTS (FROM hostless) THEN host_op END AS host_op,
       input_formats, sum(calls) AS calls, sum(sum_ns) AS ns, max(max_ns) AS max_ns, sum(busy_ns) AS busy_ns, sum(gap_ns) AS gap_ns,
       CASE WHEN NOT EXISTS (FROM shapeless) THEN sum(elements) END AS elements,
       work, at_most, sum_if_known(flop) AS flop, sum_if_known(bytes) AS bytes, sum_if_known(possible_flop) AS possible_flop,
       max(block_num) AS blocks, sum(counted_ns) AS counted_ns, sum(cube_ns) AS cube_ns, sum(load_ns) AS load_ns,
       sum(l2_counted_ns) AS l2_counted_ns, sum(l2_hit_ns) AS l2_hit_ns,
       sum(odd_calls) AS odd_calls, sum(odd_ns) AS odd_ns
FROM c_kernel JOIN c_divisor USING (side, run, capture)
WHERE domain = 'kernel'
GROUP BY ALL;
