-- Step, phase and inner device time of each framework operator, in one chain of lookups over narrow rows. Step and phase go by its start; where
-- steps were chosen, operators outside them are left out. The device time launched inside it, at any depth, is the difference of a running
-- sum over the launching operators of its thread, in order of their start, at its end and at its start.
-- Depends on stage_host_op, stage_kernel, step, phase.
CREATE OR REPLACE TEMP TABLE host_op_place AS
WITH running AS (
    SELECT o.thread, o.start_ns AS launch_ns, CAST(sum(sum(k.end_ns - k.start_ns)) OVER (PARTITION BY o.thread ORDER BY o.start_ns) AS BIGINT) AS upto_ns
    FROM stage_kernel AS k JOIN stage_host_op AS o ON o.id = k.host_op_id
    GROUP BY o.thread, o.start_ns
), before AS (
    SELECT o.id, o.thread, o.start_ns, o.end_ns, coalesce(r.upto_ns, 0) AS before_ns
    FROM (SELECT id, thread, start_ns, end_ns FROM stage_host_op) AS o
    ASOF LEFT JOIN running AS r ON r.thread = o.thread AND o.start_ns > r.launch_ns
), device AS (
    SELECT b.id, b.start_ns, coalesce(r.upto_ns, 0) - b.before_ns AS device_ns
    FROM before AS b ASOF LEFT JOIN running AS r ON r.thread = b.thread AND b.end_ns > r.launch_ns
), marked AS (
    SELECT step, start_ns AS step_start_ns, end_ns AS step_end_ns FROM step WHERE capture = getvariable('capture') AND start_ns IS NOT NULL
), only_step AS (
    SELECT step FROM step WHERE capture = getvariable('capture') AND inferred
), stepped AS (
    SELECT o.id, o.start_ns, o.device_ns, coalesce(only_step.step, CASE WHEN o.start_ns <= m.step_end_ns THEN m.step END) AS step
    FROM device AS o ASOF LEFT JOIN marked AS m ON o.start_ns >= m.step_start_ns LEFT JOIN only_step ON TRUE
), marked_phase AS (
    SELECT id AS phase, start_ns AS phase_start_ns, end_ns AS phase_end_ns FROM phase WHERE capture = getvariable('capture') AND NOT inferred
), folder AS (
    SELECT id FROM phase WHERE capture = getvariable('capture') AND inferred
)
SELECT o.id, o.step, o.device_ns, coalesce(folder.id, CASE WHEN o.start_ns < p.phase_end_ns THEN p.phase END) AS phase
FROM stepped AS o ASOF LEFT JOIN marked_phase AS p ON o.start_ns >= p.phase_start_ns LEFT JOIN folder ON TRUE
WHERE getvariable('steps') IS NULL OR o.step IS NOT NULL;
