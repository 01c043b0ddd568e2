-- What kernels achieve, per side, kind of work and exact shapes: where it is known what one call computes or moves, and which units of AI Core worked,
-- where that was counted. Operations per nanosecond are thousandths of TFLOP/s, bytes per nanosecond are GB/s. There is no share of the peak where the
-- operations are an upper limit, and none where it is more than a chip can do, beyond 5 % for the inexact clock: `beyond_peak` has it then. Only loosely
-- matched operators with more than 32 shapes have the pattern of their shapes (docs/design.md §6).
-- Depends on c_kernel_keyed, known_mean, reached_rate, side_mean, sum_if_known, unreached_rate.
-- Nothing without c_kernel_keyed.
CREATE TABLE c_achieved AS
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
           known_mean(flop, divisor, TRUE) AS flop,
           known_mean(bytes, divisor, TRUE) AS bytes,
           CASE WHEN count(possible_flop) = count(*) AND NOT bool_or(at_most) THEN side_mean(possible_flop, divisor, TRUE) END AS possible_flop,
           side_mean(counted_ns, divisor, TRUE) AS counted_ns, side_mean(cube_ns, divisor, TRUE) AS cube_ns,
           side_mean(load_ns, divisor, TRUE) AS load_ns, side_mean(l2_counted_ns, divisor, TRUE) AS l2_counted_ns,
           side_mean(l2_hit_ns, divisor, TRUE) AS l2_hit_ns
    FROM exact GROUP BY op, work, shapes, dtypes, side
)
SELECT * EXCLUDE (part_of_peak, flop_rate, byte_rate), reached_rate(flop_rate) AS tflops, reached_rate(byte_rate) AS gb_per_s,
       unreached_rate(greatest(flop_rate, byte_rate)) AS beyond_rate,
       CASE WHEN part_of_peak <= 1.05 THEN part_of_peak END AS peak_share, CASE WHEN part_of_peak > 1.05 THEN part_of_peak END AS beyond_peak
FROM (
    SELECT *, flop / nullif(ns, 0) / 1000 AS flop_rate, flop / nullif(possible_flop, 0) AS part_of_peak, bytes / nullif(ns, 0) AS byte_rate,
           cube_ns / nullif(counted_ns, 0) AS cube_share, load_ns / nullif(counted_ns, 0) AS load_share,
           l2_hit_ns / nullif(l2_counted_ns, 0) AS l2_hit_share
    FROM known
);
