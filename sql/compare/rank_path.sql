-- How long the critical path of each side stays on each member and phase, in ns per step; the sums are those of the section path.
-- Depends on c_capture, c_path_divided.
-- Nothing without c_capture, c_path_divided.
WITH exact AS (
    SELECT p.side, c.member, coalesce(p.phase, '(outside)') AS phase, p.divisor, sum(p.ns) AS ns
    FROM c_path_divided AS p JOIN c_capture AS c USING (side, run, capture) GROUP BY ALL
)
SELECT side, member, phase, sum(ns / divisor ORDER BY divisor) AS ns FROM exact GROUP BY side, member, phase ORDER BY side, member, phase;
