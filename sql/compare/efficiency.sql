-- Section efficiency: what kernels achieve, where it is known what one call computes or moves, and which units of AI Core worked, where that was counted. Operations per nanosecond are thousandths of
-- TFLOP/s, bytes per nanosecond are GB/s. There is no share of the peak where the operations are an upper limit. Rows meet by exact shapes; only
-- loosely matched operators with more than 32 shapes by the pattern of their shapes (docs/design.md §6).
-- Depends on c_kernel_keyed, side_mean, sum_if_known.
-- Nothing without c_kernel_keyed.
WITH shaped AS (
    SELECT *, CASE WHEN loose AND op IN (SELECT op FROM c_kernel_keyed GROUP BY op HAVING count(DISTINCT exact_shapes) > 32) THEN input_shapes
                   ELSE exact_shapes END AS shapes
    FROM c_kernel_keyed WHERE work IS NOT NULL OR coalesce(counted_ns, l2_counted_ns) IS NOT NULL
), exact AS (
    SELECT op, work, shapes, exact_dtypes AS dtypes, side, divisor, bool_or(at_most) AS at_most, sum(calls) AS calls, sum(ns) AS ns,
           sum_if_known(flop) AS flop, sum_if_known(bytes) AS bytes, sum_if_known(possible_flop) AS possible_flop,
           sum(counted_ns) AS counted_ns, sum(cube_ns) AS cube_ns, sum(load_ns) AS load_ns,
           sum(l2_counted_ns) AS l2_counted_ns, sum(l2_hit_ns) AS l2_hit_ns
    FROM shaped GROUP BY ALL
), known AS (
    SELECT op, work, shapes, dtypes, side, bool_or(at_most) AS at_most, side_mean(calls, divisor, TRUE) AS calls, side_mean(ns, divisor, TRUE) AS ns,
           CASE WHEN count(flop) = count(*) THEN side_mean(flop, divisor, TRUE) END AS flop,
           CASE WHEN count(bytes) = count(*) THEN side_mean(bytes, divisor, TRUE) END AS bytes,
           CASE WHEN count(possible_flop) = count(*) AND NOT bool_or(at_most) THEN side_mean(possible_flop, divisor, TRUE) END AS possible_flop,
           side_mean(counted_ns, divisor, TRUE) AS counted_ns, side_mean(cube_ns, divisor, TRUE) AS cube_ns,
           side_mean(load_ns, divisor, TRUE) AS load_ns, side_mean(l2_counted_ns, divisor, TRUE) AS l2_counted_ns,
           side_mean(l2_hit_ns, divisor, TRUE) AS l2_hit_ns
    FROM exact GROUP BY op, work, shapes, dtypes, side
), achieved AS (
    SELECT *, flop / nullif(ns, 0) / 1000 AS tflops, flop / nullif(possible_flop, 0) AS peak_share, bytes / nullif(ns, 0) AS gb_per_s,
           cube_ns / nullif(counted_ns, 0) AS cube_share, load_ns / nullif(counted_ns, 0) AS load_share,
           l2_hit_ns / nullif(l2_counted_ns, 0) AS l2_hit_share
    FROM known
)
SELECT coalesce(b.op, n.op) AS name, coalesce(b.work, n.work) AS work, coalesce(b.shapes, n.shapes) AS input_shapes,
       coalesce(b.dtypes, n.dtypes) AS input_dtypes, coalesce(b.at_most, FALSE) OR coalesce(n.at_most, FALSE) AS at_most,
       b.op IS NOT NULL AS in_baseline, n.op IS NOT NULL AS in_new, b.ns AS baseline_ns, n.ns AS new_ns, b.calls AS baseline_calls, n.calls AS new_calls,
       b.tflops AS baseline_tflops, n.tflops AS new_tflops, b.peak_share AS baseline_peak_share, n.peak_share AS new_peak_share,
       b.gb_per_s AS baseline_gb_per_s, n.gb_per_s AS new_gb_per_s,
       b.cube_share AS baseline_cube_share, n.cube_share AS new_cube_share,
       b.load_share AS baseline_load_share, n.load_share AS new_load_share, b.l2_hit_share AS baseline_l2_hit_share, n.l2_hit_share AS new_l2_hit_share
FROM (FROM achieved WHERE side = 'baseline') AS b
FULL JOIN (FROM achieved WHERE side = 'new') AS n
  ON b.op = n.op AND b.work IS NOT DISTINCT FROM n.work AND b.shapes IS NOT DISTINCT FROM n.shapes AND b.dtypes IS NOT DISTINCT FROM n.dtypes;
