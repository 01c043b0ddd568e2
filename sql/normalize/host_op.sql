-- Framework operators with their step, phase, parent, self time and device time.
-- Depends on stage_host_op, host_op_nesting, host_op_parent, step, phase.
INSERT INTO host_op
WITH inside AS (
    SELECT parent_id AS id, sum(length_ns) AS children_ns FROM host_op_parent GROUP BY parent_id
), marked AS (
    SELECT step, start_ns AS step_start_ns, end_ns AS step_end_ns FROM step WHERE capture = getvariable('capture') AND start_ns IS NOT NULL
), only_step AS (
    SELECT step FROM step WHERE capture = getvariable('capture') AND inferred
), stepped AS (
    SELECT o.*, coalesce(only_step.step, CASE WHEN o.start_ns <= m.step_end_ns THEN m.step END) AS step
    FROM stage_host_op AS o ASOF LEFT JOIN marked AS m ON o.start_ns >= m.step_start_ns LEFT JOIN only_step ON TRUE
), marked_phase AS (
    SELECT id AS phase, start_ns AS phase_start_ns, end_ns AS phase_end_ns FROM phase WHERE capture = getvariable('capture') AND NOT inferred
), folder AS (
    SELECT id FROM phase WHERE capture = getvariable('capture') AND inferred
)
SELECT o.id, getvariable('capture'), o.thread, o.name, o.start_ns, o.end_ns, o.step,
       coalesce(folder.id, CASE WHEN o.start_ns < p.phase_end_ns THEN p.phase END),
       parent.parent_id, o.sequence_number, o.input_shapes, o.input_dtypes,
       greatest(o.end_ns - o.start_ns - coalesce(i.children_ns, 0), 0),
       CASE WHEN getvariable('has_launches') THEN n.device_self_ns END,
       CASE WHEN getvariable('has_launches') THEN n.device_ns END
FROM stepped AS o ASOF LEFT JOIN marked_phase AS p ON o.start_ns >= p.phase_start_ns
LEFT JOIN folder ON TRUE
JOIN host_op_nesting AS n ON n.id = o.id
LEFT JOIN host_op_parent AS parent ON parent.id = o.id
LEFT JOIN inside AS i ON i.id = o.id;
