-- A capture without step marks is one step: the step folder's number, else the one that order in time gives, else the capture's place among
-- those of its process (docs/design.md §4).
-- Depends on capture, step.
INSERT INTO step
SELECT capture, coalesce(step_hint, step_place, ordinal), NULL, NULL, TRUE FROM capture
WHERE capture NOT IN (SELECT capture FROM step);
