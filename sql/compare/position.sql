-- Selected steps of each run, by the position that pairs them: by the steps' numbers if each run shares most of its steps with the other side, or
-- most of those of the other side; else by their order in the run.
-- Depends on c_step.
-- Nothing without c_step.
CREATE TABLE c_position AS
WITH numbered AS (
    SELECT DISTINCT side, run, step FROM c_step WHERE selected
), sized AS (
    SELECT side, count(DISTINCT step) AS steps FROM numbered GROUP BY side
), met AS (
    SELECT n.side, n.run, count(*) AS steps, count(*) FILTER (EXISTS (FROM numbered AS o WHERE o.side <> n.side AND o.step = n.step)) AS shared
    FROM numbered AS n GROUP BY n.side, n.run
)
SELECT side, run, step, CASE WHEN (SELECT bool_and(2 * m.shared > least(m.steps, o.steps)) FROM met AS m JOIN sized AS o ON o.side <> m.side)
                             THEN dense_rank() OVER (ORDER BY step) ELSE row_number() OVER (PARTITION BY side, run ORDER BY step) END AS position
FROM numbered;
