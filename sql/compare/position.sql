-- Selected steps of each run, by position.
-- Depends on c_step.
-- Nothing without c_step.
CREATE TABLE c_position AS
SELECT side, run, step, row_number() OVER (PARTITION BY side, run ORDER BY step) AS position
FROM (SELECT DISTINCT side, run, step FROM c_step WHERE selected);
