-- Section efficiency: what kernels achieve on both sides. Rows meet by exact shapes.
-- Depends on c_achieved.
-- Nothing without c_achieved.
SELECT coalesce(b.op, n.op) AS name, coalesce(b.work, n.work) AS work, coalesce(b.shapes, n.shapes) AS input_shapes,
       coalesce(b.dtypes, n.dtypes) AS input_dtypes, coalesce(b.at_most, FALSE) OR coalesce(n.at_most, FALSE) AS at_most,
       b.op IS NOT NULL AS in_baseline, n.op IS NOT NULL AS in_new, b.ns AS baseline_ns, n.ns AS new_ns, b.calls AS baseline_calls, n.calls AS new_calls,
       b.tflops AS baseline_tflops, n.tflops AS new_tflops, b.peak_share AS baseline_peak_share, n.peak_share AS new_peak_share,
       b.gb_per_s AS baseline_gb_per_s, n.gb_per_s AS new_gb_per_s,
       b.cube_share AS baseline_cube_share, n.cube_share AS new_cube_share,
       b.load_share AS baseline_load_share, n.load_share AS new_load_share, b.l2_hit_share AS baseline_l2_hit_share, n.l2_hit_share AS new_l2_hit_share
FROM (FROM c_achieved WHERE side = 'baseline') AS b
FULL JOIN (FROM c_achieved WHERE side = 'new') AS n
  ON b.op = n.op AND b.work IS NOT DISTINCT FROM n.work AND b.shapes IS NOT DISTINCT FROM n.shapes AND b.dtypes IS NOT DISTINCT FROM n.dtypes;
