-- Host time from the start of the first chosen step to the end of the last. Rows outside are not kept. NULL if all steps are wanted.
-- Variables: capture, steps.
-- Depends on stage_step.
SET VARIABLE from_ns = (SELECT min(start_ns) FROM stage_step WHERE capture = getvariable('capture') AND list_contains(getvariable('steps'), step));
SET VARIABLE until_ns = (SELECT max(end_ns) FROM stage_step WHERE capture = getvariable('capture') AND list_contains(getvariable('steps'), step));
