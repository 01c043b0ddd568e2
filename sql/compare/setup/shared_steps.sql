-- The steps that both sides have, if their numbers pair them (compare/position.sql) and one side has others too; else NULL.
-- Depends on c_step.
-- Run by name: when all stores are loaded.
WITH numbered AS (
    SELECT DISTINCT side, run, step FROM c_step
), sized AS (
    SELECT side, count(DISTINCT step) AS steps FROM numbered GROUP BY side
), met AS (
    SELECT n.side, n.run, count(*) AS steps, count(*) FILTER (EXISTS (FROM numbered AS o WHERE o.side <> n.side AND o.step = n.step)) AS shared
    FROM numbered AS n GROUP BY n.side, n.run
), both_have AS (
    SELECT step FROM numbered GROUP BY step HAVING count(DISTINCT side) = 2
)
SELECT CASE WHEN (SELECT bool_and(2 * m.shared > least(m.steps, o.steps)) FROM met AS m JOIN sized AS o ON o.side <> m.side)
             AND (SELECT count(*) FROM both_have) < (SELECT max(steps) FROM sized)
             AND NOT EXISTS (FROM c_step WHERE inferred) THEN (SELECT list(step ORDER BY step) FROM both_have) END;
