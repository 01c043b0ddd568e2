-- A capture without step marks is one step. Its number is that of the step folder, else the number derived from the time order of the
-- captures, else the capture's ordinal among the captures of its process (docs/design.md §4).
-- Depends on capture, step.
-- Nothing without capture.
INSERT INTO step
SELECT capture, coalesce(step_hint, step_place, ordinal), NULL, NULL, TRUE FROM capture
WHERE capture NOT IN (SELECT capture FROM step);
