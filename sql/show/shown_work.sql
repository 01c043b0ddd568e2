-- What kinds of kernels and shapes achieve, of those for which it is known what one call computes or moves. No share of the peak where the operations
-- are an upper limit (at_most), and none where it is more than a chip can do, beyond 5 % for the inexact clock: `beyond_peak` has it then.
-- Nor rates beyond 100,000 GB/s or TFLOP/s, which no chip reaches (beyond_rate).
-- Depends on peak_of, r_kernel, reached_rate, shown_device, shown_divisor, unreached_rate.
CREATE OR REPLACE TEMP TABLE shown_work AS
WITH kernels AS (
    SELECT coalesce(k.op_type, k.name) AS kernel, k.input_shapes, k.work, bool_or(k.at_most) AS at_most,
           sum(k.calls / v.kernel_times ORDER BY k.calls / v.kernel_times) AS calls, sum(k.sum_ns / v.kernel_times ORDER BY k.sum_ns / v.kernel_times) AS ns,
           sum(k.sum_ns) AS all_ns,
           CASE WHEN count(k.flop) = count(*) THEN sum(TRY_CAST(k.flop AS HUGEINT)) END AS flop,
           CASE WHEN count(k.bytes) = count(*) THEN sum(TRY_CAST(k.bytes AS HUGEINT)) END AS bytes,
           CASE WHEN count(CASE k.precision WHEN 'half' THEN p.half_flop_per_ns WHEN 'int8' THEN p.int8_flop_per_ns END) = count(*) AND NOT bool_or(k.at_most)
                THEN sum(TRY_CAST(k.sum_ns * CASE k.precision WHEN 'half' THEN p.half_flop_per_ns WHEN 'int8' THEN p.int8_flop_per_ns END AS HUGEINT)) END AS possible_flop
    FROM r_kernel AS k
    JOIN shown_device AS d ON d.capture = k.capture AND d.step = k.step
     AND (d.device_id IS NOT DISTINCT FROM k.device_id OR d.compute_ns IS NULL)
    JOIN shown_divisor AS v ON v.capture = k.capture
    LEFT JOIN peak_of('r_kernel', 'r_counter', 'env') AS p ON p.capture = k.capture
    WHERE k.work IS NOT NULL
    GROUP BY coalesce(k.op_type, k.name), k.input_shapes, k.work
)
SELECT * EXCLUDE (part_of_peak, flop_rate, byte_rate), reached_rate(flop_rate) AS tflops, reached_rate(byte_rate) AS gb_per_s,
       unreached_rate(greatest(flop_rate, byte_rate)) IS NOT NULL AS beyond_rate,
       CASE WHEN part_of_peak <= 1.05 THEN part_of_peak END AS peak_share, CASE WHEN part_of_peak > 1.05 THEN part_of_peak END AS beyond_peak
FROM (
    SELECT *, flop / nullif(possible_flop, 0) AS part_of_peak, flop / nullif(all_ns, 0) / 1000 AS flop_rate, bytes / nullif(all_ns, 0) AS byte_rate
    FROM kernels
);
