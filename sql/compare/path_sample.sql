-- The length of the critical path of each run, in ns: the mean over steps, summed over roles.
-- Depends on c_divisor, c_path_divided.
-- Nothing without c_divisor, c_path_divided.
WITH replicated AS (
    SELECT side, max(runs) AS runs FROM c_divisor WHERE domain = 'account' GROUP BY side
), exact AS (
    SELECT side, run, divisor, sum(ns) AS ns FROM c_path_divided GROUP BY ALL
)
SELECT side, run, sum(ns * runs / divisor ORDER BY divisor) AS ns FROM exact JOIN replicated USING (side) GROUP BY side, run ORDER BY side, run;
