-- Framework operators with their step, phase and device time, and, where events are kept, their parent and self time.
-- Variables: capture, has_launches, keep_events.
-- Depends on host_op_parent, host_op_place, stage_host_op, stage_kernel.
INSERT INTO host_op
WITH inside AS (
    SELECT parent_id AS id, sum(length_ns) AS children_ns FROM host_op_parent GROUP BY parent_id
), launched AS (
    SELECT host_op_id AS id, sum(end_ns - start_ns) AS device_self_ns FROM stage_kernel WHERE host_op_id IS NOT NULL GROUP BY host_op_id
)
SELECT o.id, getvariable('capture'), o.thread, o.name, o.start_ns, o.end_ns, w.step, w.phase,
       parent.parent_id, o.sequence_number, o.input_shapes, o.input_dtypes,
       CASE WHEN getvariable('keep_events') THEN greatest(o.end_ns - o.start_ns - coalesce(i.children_ns, 0), 0) END,
       CASE WHEN getvariable('has_launches') THEN coalesce(l.device_self_ns, 0) END,
       CASE WHEN getvariable('has_launches') THEN w.device_ns END
FROM stage_host_op AS o
JOIN host_op_place AS w ON w.id = o.id
LEFT JOIN host_op_parent AS parent ON parent.id = o.id
LEFT JOIN inside AS i ON i.id = o.id
LEFT JOIN launched AS l ON l.id = o.id;
