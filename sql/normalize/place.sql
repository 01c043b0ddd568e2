-- Step and phase by host time. A step includes its end; a phase excludes its end. A capture without step marks is one step, and in discrete
-- mode also one phase.
-- Depends on capture, phase, step.
-- Nothing without capture + phase + step.
-- Runs after chosen_step.
INSERT INTO place
WITH marked_step AS (
    SELECT capture, step, start_ns, end_ns FROM step WHERE start_ns IS NOT NULL
), marked_phase AS (
    SELECT capture, id, start_ns, end_ns FROM phase WHERE NOT inferred
), cut AS (
    SELECT capture, -9223372036854775807 AS from_ns FROM capture
    UNION SELECT capture, start_ns FROM marked_step UNION SELECT capture, least(end_ns, 9223372036854775806) + 1 FROM marked_step
    UNION SELECT capture, start_ns FROM marked_phase UNION SELECT capture, end_ns FROM marked_phase
)
SELECT c.capture, c.from_ns,
       coalesce(only_step.step, CASE WHEN c.from_ns <= s.end_ns THEN s.step END),
       coalesce(folder.id, CASE WHEN c.from_ns < p.end_ns THEN p.id END)
FROM cut AS c
ASOF LEFT JOIN marked_step AS s ON s.capture = c.capture AND c.from_ns >= s.start_ns
ASOF LEFT JOIN marked_phase AS p ON p.capture = c.capture AND c.from_ns >= p.start_ns
LEFT JOIN (SELECT capture, step FROM step WHERE inferred) AS only_step ON only_step.capture = c.capture
LEFT JOIN (SELECT capture, id FROM phase WHERE inferred) AS folder ON folder.capture = c.capture
WHERE c.from_ns IS NOT NULL;
