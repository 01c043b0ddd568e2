-- The twenty kinds of kernels and shapes with the most time of those for which it is known what one call computes or moves. No share of the peak
-- where it is more than a chip can do, beyond 5 % for the inexact clock: quality says so.
-- Depends on shown_work.
SELECT kernel, input_shapes, CASE WHEN at_most THEN work || ' (at most)' ELSE work END AS work, calls, ns / 1e6 AS total_ms,
       flop / nullif(all_ns, 0) / 1000 AS tflops, CASE WHEN part_of_peak <= 1.05 THEN 100.0 * flop / nullif(possible_flop, 0) END AS peak_percent, bytes / nullif(all_ns, 0) AS gb_per_s
FROM shown_work ORDER BY ns DESC, kernel, input_shapes LIMIT 20;
