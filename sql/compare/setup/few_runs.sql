-- Whether a side has at most two runs, and a run two groups of members. Then sum_of_runs and sum_of_groups sum at most two amounts, and their order
-- does not matter.
-- Depends on c_capture.
-- Run by name: as soon as the divisors are known.
SELECT coalesce(max(runs), 0) <= 2 AND coalesce(max(groups), 0) <= 2
FROM (SELECT count(DISTINCT (role, folder)) AS groups, count(DISTINCT run) OVER (PARTITION BY side) AS runs FROM c_capture GROUP BY side, run);
