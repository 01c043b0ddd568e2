-- Step and phase of each framework operator, by its start; where steps were chosen, of operators in them only. Depends on host_op_depth, step, phase.
CREATE OR REPLACE TEMP TABLE host_op_place AS
WITH marked AS (
    SELECT step, start_ns AS step_start_ns, end_ns AS step_end_ns FROM step WHERE capture = getvariable('capture') AND start_ns IS NOT NULL
), only_step AS (
    SELECT step FROM step WHERE capture = getvariable('capture') AND inferred
), stepped AS (
    SELECT o.id, o.start_ns, coalesce(only_step.step, CASE WHEN o.start_ns <= m.step_end_ns THEN m.step END) AS step
    FROM (SELECT id, start_ns FROM host_op_depth) AS o
    ASOF LEFT JOIN marked AS m ON o.start_ns >= m.step_start_ns LEFT JOIN only_step ON TRUE
), marked_phase AS (
    SELECT id AS phase, start_ns AS phase_start_ns, end_ns AS phase_end_ns FROM phase WHERE capture = getvariable('capture') AND NOT inferred
), folder AS (
    SELECT id FROM phase WHERE capture = getvariable('capture') AND inferred
)
SELECT o.id, o.step, coalesce(folder.id, CASE WHEN o.start_ns < p.phase_end_ns THEN p.phase END) AS phase
FROM stepped AS o ASOF LEFT JOIN marked_phase AS p ON o.start_ns >= p.phase_start_ns LEFT JOIN folder ON TRUE
WHERE getvariable('steps') IS NULL OR o.step IS NOT NULL;
