-- Host time from the first to the last chosen step: what lies outside is not kept. NULL where all steps are wanted.
-- Variables: capture, steps.
-- Depends on step.
SET VARIABLE from_ns = (SELECT min(start_ns) FROM step WHERE capture = getvariable('capture') AND list_contains(getvariable('steps'), step));
SET VARIABLE until_ns = (SELECT max(end_ns) FROM step WHERE capture = getvariable('capture') AND list_contains(getvariable('steps'), step));
