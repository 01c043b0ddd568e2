-- Framework operators with their step, phase and device time, and, where events are kept, their parent and self time.
-- Variables: keep_events.
-- Depends on host_op_parent, host_op_place, launching, stage_host_op, stage_kernel.
INSERT INTO host_op
WITH inside AS (
    SELECT capture, parent_id AS id, sum(length_ns) AS children_ns FROM host_op_parent GROUP BY capture, parent_id
), launched AS (
    SELECT capture, host_op_id AS id, sum(end_ns - start_ns) AS device_self_ns FROM stage_kernel
    WHERE host_op_id IS NOT NULL GROUP BY capture, host_op_id
)
SELECT o.id, o.capture, o.thread, o.name, o.start_ns, o.end_ns, w.step, w.phase,
       parent.parent_id, o.sequence_number, o.input_shapes, o.input_dtypes,
       CASE WHEN getvariable('keep_events') THEN greatest(o.end_ns - o.start_ns - coalesce(i.children_ns, 0), 0) END,
       CASE WHEN launching.capture IS NOT NULL THEN coalesce(l.device_self_ns, 0) END,
       CASE WHEN launching.capture IS NOT NULL THEN w.device_ns END
FROM stage_host_op AS o
JOIN host_op_place AS w ON w.capture = o.capture AND w.id = o.id
LEFT JOIN launching ON launching.capture = o.capture
LEFT JOIN host_op_parent AS parent ON parent.capture = o.capture AND parent.id = o.id
LEFT JOIN inside AS i ON i.capture = o.capture AND i.id = o.id
LEFT JOIN launched AS l ON l.capture = o.capture AND l.id = o.id;
