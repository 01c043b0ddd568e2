-- If the user chose steps, deletes all other steps, and all tasks and phases that belong to them or to no step.
-- Variables: steps (a list, or NULL for all).
-- Depends on phase, placed, step.
DELETE FROM placed WHERE getvariable('steps') IS NOT NULL AND NOT coalesce(list_contains(getvariable('steps'), step), FALSE);
DELETE FROM phase WHERE getvariable('steps') IS NOT NULL AND NOT coalesce(list_contains(getvariable('steps'), step), FALSE);
DELETE FROM step WHERE getvariable('steps') IS NOT NULL AND NOT list_contains(getvariable('steps'), step);
