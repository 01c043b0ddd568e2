-- Step and phase by host time: a mark's both ends belong to its step, a phase's end to what follows. A capture without step marks is one step,
-- and in discrete mode one phase.
-- Variables: capture.
-- Depends on phase, step.
-- Runs after chosen_step.
INSERT INTO place
WITH marked_step AS (
    SELECT step, start_ns, end_ns FROM step WHERE capture = getvariable('capture') AND start_ns IS NOT NULL
), marked_phase AS (
    SELECT id, start_ns, end_ns FROM phase WHERE capture = getvariable('capture') AND NOT inferred
), cut AS (
    SELECT -9223372036854775807 AS from_ns
    UNION SELECT start_ns FROM marked_step UNION SELECT least(end_ns, 9223372036854775806) + 1 FROM marked_step
    UNION SELECT start_ns FROM marked_phase UNION SELECT end_ns FROM marked_phase
)
SELECT getvariable('capture'), c.from_ns,
       coalesce(only_step.step, CASE WHEN c.from_ns <= s.end_ns THEN s.step END),
       coalesce(folder.id, CASE WHEN c.from_ns < p.end_ns THEN p.id END)
FROM cut AS c
ASOF LEFT JOIN marked_step AS s ON c.from_ns >= s.start_ns
ASOF LEFT JOIN marked_phase AS p ON c.from_ns >= p.start_ns
LEFT JOIN (SELECT step FROM step WHERE capture = getvariable('capture') AND inferred) AS only_step ON TRUE
LEFT JOIN (SELECT id FROM phase WHERE capture = getvariable('capture') AND inferred) AS folder ON TRUE
WHERE c.from_ns IS NOT NULL;
