-- Framework operators with their step, phase, device time, self time and depth, and, where events are kept, their parent.
-- Depends on host_op_parent, host_op_place, host_op_self, launching, stage_host_op, stage_kernel.
-- Nothing without host_op_place, stage_host_op.
-- Runs after too_long.
INSERT INTO host_op
WITH launched AS (
    SELECT capture, host_op_id AS id, sum(end_ns - start_ns) AS device_self_ns FROM stage_kernel
    WHERE host_op_id IS NOT NULL GROUP BY capture, host_op_id
)
SELECT o.id, o.capture, o.thread, o.name, o.start_ns, o.end_ns, w.step, w.phase,
       parent.parent_id, o.sequence_number, o.input_shapes, o.input_dtypes,
       CASE WHEN o.thread IS NOT NULL THEN least(coalesce(own.self_ns, 0), o.end_ns - o.start_ns) END,
       CASE WHEN launching.capture IS NOT NULL THEN coalesce(l.device_self_ns, 0) END,
       CASE WHEN launching.capture IS NOT NULL THEN w.device_ns END, own.depth
FROM stage_host_op AS o
JOIN host_op_place AS w ON w.capture = o.capture AND w.id = o.id
LEFT JOIN launching ON launching.capture = o.capture
LEFT JOIN host_op_parent AS parent ON parent.capture = o.capture AND parent.id = o.id
LEFT JOIN host_op_self AS own ON own.capture = o.capture AND own.id = o.id
LEFT JOIN launched AS l ON l.capture = o.capture AND l.id = o.id;
