-- A range of the user's own is a phase only if both sides have it: whether it came with its work, or only its mark, is not known. The time of
-- any other is outside of all phases.
-- Depends on c_account, c_kernel, c_phase.
CREATE TABLE unmatched_phase AS
SELECT phase FROM c_phase GROUP BY phase HAVING bool_and(by_user) AND count(DISTINCT side) = 1;
UPDATE c_phase SET phase = '(outside)', by_user = FALSE, calls = NULL WHERE phase IN (FROM unmatched_phase);
UPDATE c_account SET phase = NULL WHERE phase IN (FROM unmatched_phase);
UPDATE c_kernel SET phase = NULL WHERE phase IN (FROM unmatched_phase);
DELETE FROM c_phase WHERE EXISTS (FROM unmatched_phase) AND side NOT IN (SELECT side FROM c_phase WHERE phase <> '(outside)');
