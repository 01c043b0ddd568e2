-- If the user chose steps, deletes all other steps, and the tasks and phases that belong to them or to no step. Tasks that run in the time of a chosen
-- step stay without a step, with their phases: the account divides this time, whichever step launched what runs in it.
-- Variables: steps (a list, or NULL for all).
-- Depends on in_chosen_time, phase, placed, step.
-- Runs after in_chosen_time, placed.
DELETE FROM placed WHERE getvariable('steps') IS NOT NULL AND NOT coalesce(list_contains(getvariable('steps'), step), FALSE)
   AND NOT EXISTS (FROM in_chosen_time AS o WHERE o.capture = placed.capture AND o.what = placed.what AND o.id = placed.id);
UPDATE placed SET step = NULL WHERE getvariable('steps') IS NOT NULL AND NOT list_contains(getvariable('steps'), step);
DELETE FROM phase WHERE getvariable('steps') IS NOT NULL AND NOT coalesce(list_contains(getvariable('steps'), step), FALSE)
   AND NOT EXISTS (FROM placed AS p WHERE p.capture = phase.capture AND p.phase = phase.id);
UPDATE phase SET step = NULL WHERE getvariable('steps') IS NOT NULL AND NOT list_contains(getvariable('steps'), step);
DELETE FROM step WHERE getvariable('steps') IS NOT NULL AND NOT list_contains(getvariable('steps'), step);
