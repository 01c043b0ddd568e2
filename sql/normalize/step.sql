-- The steps of each capture, with the times of their marks. A step without a usable mark is kept, without times, if tasks name it or no step of
-- the capture has a mark. Any other counts as not recorded: no task could be placed in it, as if the device had done nothing.
-- A capture without step marks is one step. Its number is that of the step folder, else the number derived from the time order of the
-- captures, else the capture's ordinal among the captures of its process (docs/design.md §4).
-- Depends on capture, stage_collective, stage_kernel, stage_step, step, step_mark.
-- Nothing without capture + stage_step.
-- Runs after too_long.
CREATE OR REPLACE TEMP TABLE step_left_out AS
WITH marked AS (
    SELECT capture, step FROM step_mark WHERE NOT is_wrong
), reported AS (
    SELECT DISTINCT capture, reported_step AS step FROM stage_kernel UNION SELECT capture, reported_step FROM stage_collective
)
SELECT DISTINCT capture, step FROM stage_step AS s
WHERE capture IN (SELECT capture FROM marked) AND NOT EXISTS (FROM marked AS m WHERE m.capture = s.capture AND m.step = s.step)
      AND NOT EXISTS (FROM reported AS r WHERE r.capture = s.capture AND r.step = s.step);
INSERT INTO step
SELECT s.capture, s.step, m.start_ns, m.end_ns, FALSE
FROM (SELECT DISTINCT capture, step FROM stage_step) AS s
LEFT JOIN step_mark AS m ON m.capture = s.capture AND m.step = s.step AND NOT m.is_wrong
WHERE NOT EXISTS (FROM step_left_out AS l WHERE l.capture = s.capture AND l.step = s.step);
INSERT INTO step
SELECT capture, coalesce(step_hint, step_place, ordinal), NULL, NULL, TRUE FROM capture
WHERE capture NOT IN (SELECT capture FROM step);
