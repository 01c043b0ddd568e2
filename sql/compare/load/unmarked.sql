-- Captures of one run that do not mark steps, while others of their role do: several steps would count as one. Those that a folder or a file
-- names as one step are not among them.
-- Variables: run, side.
-- Depends on capture, r_time, step.
-- Nothing without capture, r_time, step.
CREATE TABLE IF NOT EXISTS c_unmarked (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    name VARCHAR NOT NULL
);
INSERT INTO c_unmarked
WITH marking AS (
    SELECT capture, bool_and(inferred) AS unmarked FROM store.step WHERE capture IN (SELECT capture FROM store.r_time) GROUP BY capture
), judged AS (
    SELECT c.capture, coalesce('rank ' || c.rank, c.path) AS name, m.unmarked AND c.step_hint IS NULL AND c.step_place IS NULL AS unmarked,
           bool_or(NOT m.unmarked) OVER (PARTITION BY c.role, c.phase) AS others_mark
    FROM store.capture AS c JOIN marking AS m ON m.capture = c.capture
)
SELECT getvariable('side'), getvariable('run'), capture, name FROM judged WHERE unmarked AND others_mark;
