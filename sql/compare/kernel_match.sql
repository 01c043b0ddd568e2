-- How the kernels of each operator are matched (docs/design.md §6): by exact input shapes, or loosely if shapes vary. An operator that is
-- on both sides is matched loosely if exact matches cover less than 80 % of its time, or if it has more than 32 shapes at one place in the
-- code (phase and launching operator).
-- Depends on c_kernel_sum, side_mean.
-- Nothing without c_kernel_sum.
CREATE TABLE c_kernel_match AS
WITH exact AS (
    SELECT op, input_shapes, side, divisor, sum(ns) AS ns FROM c_kernel_sum GROUP BY ALL
), shape AS (
    SELECT op, input_shapes, coalesce(side_mean(ns, divisor, side = 'baseline'), 0) AS baseline_ns,
           coalesce(side_mean(ns, divisor, side = 'new'), 0) AS new_ns,
           bool_or(side = 'baseline') AND bool_or(side = 'new') AS on_both,
           bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new
    FROM exact GROUP BY op, input_shapes
), place AS (
    SELECT op, max(shapes) AS shapes FROM (
        SELECT op, count(DISTINCT input_shapes) AS shapes FROM c_kernel_sum GROUP BY op, phase, host_op
    ) GROUP BY op
), matched AS (
    SELECT op, sum(baseline_ns + new_ns ORDER BY input_shapes) AS total_ns,
           coalesce(sum(baseline_ns + new_ns ORDER BY input_shapes) FILTER (WHERE on_both), 0) AS exact_ns,
           bool_or(in_baseline) AND bool_or(in_new) AS on_both, count(input_shapes) AS shapes
    FROM shape GROUP BY op
)
SELECT m.op, m.total_ns, m.exact_ns, m.on_both,
       m.on_both AND m.shapes > 0 AND (m.exact_ns < 0.8 * m.total_ns OR p.shapes > 32) AS loose
FROM matched AS m JOIN place AS p USING (op);
