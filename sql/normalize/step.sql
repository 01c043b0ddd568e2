-- A capture without step marks is one step: the step folder's number, else the capture's place in order (DESIGN §4).
INSERT INTO step
SELECT capture, coalesce(step_hint, ordinal), NULL, NULL, TRUE FROM capture
WHERE capture = getvariable('capture') AND capture NOT IN (SELECT capture FROM step);
