-- The twenty kinds of kernels and shapes with the most time of those for which it is known what one call computes or moves. Quality says where
-- they do more than a chip can.
-- Depends on shown_work.
SELECT kernel, input_shapes, CASE WHEN at_most THEN work || ' (at most)' ELSE work END AS work, calls, ns / 1e6 AS total_ms,
       tflops, 100.0 * peak_share AS peak_percent, gb_per_s
FROM shown_work ORDER BY ns DESC, kernel, input_shapes LIMIT 20;
