-- Which ranges of the user's own are phases of a diff. Only those that both sides have: whether any other came with its work, or only its
-- mark, is not known. None, if a capture has phases of an RL step, or training timed its phases on both sides: then these are the phases.
-- The time of all others is outside of the phases; `lone_side` names the side of those that only the other one lacks.
-- Depends on c_account, c_kernel, c_metric, c_path, c_phase, c_timer.
-- Nothing without c_phase.
CREATE TABLE unmatched_phase AS
WITH known AS (
    SELECT (SELECT count(DISTINCT side) > 1 FROM c_metric JOIN c_timer USING (side, run, name) WHERE value IS NOT NULL)
        OR EXISTS (FROM c_phase WHERE phase <> '(outside)' AND NOT by_user) AS otherwise
)
SELECT phase, CASE WHEN count(DISTINCT side) = 1 AND NOT (SELECT otherwise FROM known) THEN min(side) END AS lone_side
FROM c_phase GROUP BY phase HAVING bool_and(by_user) AND (count(DISTINCT side) = 1 OR (SELECT otherwise FROM known));
DELETE FROM c_phase WHERE (side, run, capture) IN (SELECT (side, run, capture) FROM c_phase WHERE by_user)
  AND EXISTS (FROM c_phase WHERE phase <> '(outside)' AND NOT by_user);
UPDATE c_phase SET phase = '(outside)', by_user = FALSE, calls = NULL WHERE phase IN (SELECT phase FROM unmatched_phase);
UPDATE c_account SET phase = NULL WHERE phase IN (SELECT phase FROM unmatched_phase);
UPDATE c_kernel SET phase = NULL WHERE phase IN (SELECT phase FROM unmatched_phase);
UPDATE c_path SET phase = NULL WHERE phase IN (SELECT phase FROM unmatched_phase);
DELETE FROM c_phase WHERE EXISTS (FROM unmatched_phase) AND side NOT IN (SELECT side FROM c_phase WHERE phase <> '(outside)');
