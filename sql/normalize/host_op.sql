-- Framework operators with their step, phase, parent, self time and device time.
-- Depth is a running sum of +1 and −1 per thread; the parent is the latest operator one level up. The device time inside an operator is
-- a difference of two running sums over the kernels of its thread's operators, in order of their start.
-- Depends on stage_host_op, stage_kernel, step, phase.
INSERT INTO host_op
WITH edge AS (
    SELECT id, thread, start_ns AS ts_ns, 1 AS delta, end_ns - start_ns AS length_ns FROM stage_host_op
    UNION ALL SELECT id, thread, end_ns, -1, end_ns - start_ns FROM stage_host_op
), level AS (   -- at one time stamp, ends come before starts; longer operators open first
    SELECT id, delta, sum(delta) OVER (PARTITION BY thread ORDER BY ts_ns, delta, CASE WHEN delta = 1 THEN -length_ns ELSE length_ns END, id) AS depth
    FROM edge
), nested AS (
    SELECT o.*, l.depth FROM stage_host_op AS o JOIN level AS l ON l.id = o.id AND l.delta = 1
), parented AS (
    SELECT o.*, p.id AS parent_id
    FROM nested AS o
    ASOF LEFT JOIN (SELECT id, thread, depth + 1 AS child_depth, start_ns FROM nested) AS p
      ON p.thread = o.thread AND p.child_depth = o.depth AND o.start_ns >= p.start_ns
), inside AS (
    SELECT parent_id, sum(end_ns - start_ns) AS children_ns FROM parented WHERE parent_id IS NOT NULL GROUP BY parent_id
), launched AS (
    SELECT host_op_id AS id, sum(end_ns - start_ns) AS device_self_ns FROM stage_kernel WHERE host_op_id IS NOT NULL GROUP BY host_op_id
), running AS (
    SELECT thread, start_ns, sum(device_self_ns) OVER (PARTITION BY thread ORDER BY start_ns) AS upto_ns
    FROM (
        SELECT o.thread, o.start_ns, sum(l.device_self_ns) AS device_self_ns
        FROM launched AS l JOIN stage_host_op AS o USING (id) GROUP BY o.thread, o.start_ns
    )
), before AS (
    SELECT o.id, o.thread, o.end_ns, coalesce(r.upto_ns, 0) AS before_ns
    FROM stage_host_op AS o ASOF LEFT JOIN running AS r ON r.thread = o.thread AND o.start_ns > r.start_ns
), device AS (
    SELECT b.id, coalesce(r.upto_ns, 0) - b.before_ns AS device_ns
    FROM before AS b ASOF LEFT JOIN running AS r ON r.thread = b.thread AND b.end_ns > r.start_ns
), marked AS (
    SELECT step, start_ns AS step_start_ns, end_ns AS step_end_ns FROM step WHERE capture = getvariable('capture') AND start_ns IS NOT NULL
), only_step AS (
    SELECT step FROM step WHERE capture = getvariable('capture') AND inferred
), stepped AS (
    SELECT o.*, coalesce(only_step.step, CASE WHEN o.start_ns <= m.step_end_ns THEN m.step END) AS step
    FROM parented AS o ASOF LEFT JOIN marked AS m ON o.start_ns >= m.step_start_ns LEFT JOIN only_step ON TRUE
), marked_phase AS (
    SELECT id AS phase, start_ns AS phase_start_ns, end_ns AS phase_end_ns FROM phase WHERE capture = getvariable('capture') AND NOT inferred
), folder AS (
    SELECT id FROM phase WHERE capture = getvariable('capture') AND inferred
)
SELECT o.id, getvariable('capture'), o.thread, o.name, o.start_ns, o.end_ns, o.step,
       coalesce(folder.id, CASE WHEN o.start_ns < p.phase_end_ns THEN p.phase END),
       o.parent_id, o.sequence_number, o.input_shapes, o.input_dtypes,
       greatest(o.end_ns - o.start_ns - coalesce(i.children_ns, 0), 0),
       CASE WHEN getvariable('has_launches') THEN coalesce(l.device_self_ns, 0) END,
       CASE WHEN getvariable('has_launches') THEN coalesce(d.device_ns, 0) END
FROM stepped AS o ASOF LEFT JOIN marked_phase AS p ON o.start_ns >= p.phase_start_ns
LEFT JOIN folder ON TRUE
LEFT JOIN inside AS i ON i.parent_id = o.id
LEFT JOIN launched AS l ON l.id = o.id
LEFT JOIN device AS d ON d.id = o.id;
