-- If the user chose steps: the tasks that run in the time of a chosen step but do not belong to one, with the step that they have, if any.
-- Variables: steps.
-- Depends on placed, step.
-- Nothing without placed, step.
CREATE OR REPLACE TEMP TABLE in_chosen_time AS
SELECT p.capture, p.what, p.id, p.step
FROM (FROM placed WHERE getvariable('steps') IS NOT NULL AND NOT coalesce(list_contains(getvariable('steps'), step), FALSE)) AS p
ASOF JOIN (FROM step WHERE start_ns IS NOT NULL AND list_contains(getvariable('steps'), step)) AS s ON s.capture = p.capture AND p.end_ns > s.start_ns
WHERE p.start_ns < s.end_ns;
