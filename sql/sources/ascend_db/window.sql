-- Host time from the start of the first chosen step to the end of the last, and in it the steps that were not chosen (`holes`). Rows outside and in
-- holes are not kept. NULL if all steps are wanted.
-- Variables: capture, steps.
-- Depends on stage_step.
SET VARIABLE from_ns = (SELECT min(start_ns) FROM stage_step WHERE capture = getvariable('capture') AND list_contains(getvariable('steps'), step));
SET VARIABLE until_ns = (SELECT max(end_ns) FROM stage_step WHERE capture = getvariable('capture') AND list_contains(getvariable('steps'), step));
SET VARIABLE holes = (
    SELECT list({'from_ns': start_ns, 'until_ns': end_ns}) FROM stage_step AS s
    WHERE capture = getvariable('capture') AND NOT list_contains(getvariable('steps'), step) AND start_ns > getvariable('from_ns') AND end_ns < getvariable('until_ns')
      AND NOT EXISTS (FROM stage_step AS c WHERE c.capture = s.capture AND list_contains(getvariable('steps'), c.step) AND c.start_ns < s.end_ns AND c.end_ns > s.start_ns)
);
