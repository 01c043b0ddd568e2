-- Kernels with their step, phase and category, and their share of the busy time of their device.
-- Depends on coverage, kernel_category, placed, stage_kernel.
-- Nothing without kernel_category, placed, stage_kernel.
-- Runs after too_long.
INSERT INTO kernel
SELECT k.id, k.capture, k.device_id, k.stream, p.step, p.phase, k.name, k.op_type, k.core_type, c.category,
       k.start_ns, k.end_ns, k.wait_ns, k.input_shapes, k.input_dtypes, k.input_formats, k.output_shapes, k.output_dtypes, k.output_formats,
       k.block_num, k.host_op_id, v.busy_ns, v.gap_ns,
       CASE WHEN c.unknown_to_msprof THEN 'other' ELSE c.category END
FROM stage_kernel AS k
JOIN (FROM placed WHERE what = 'kernel') AS p USING (capture, id)
JOIN kernel_category AS c USING (capture, id)
LEFT JOIN (FROM coverage WHERE what = 'kernel') AS v USING (capture, id);
