-- One value per run, phase and kind of time, in ns per member and step; a phase that is absent in a step or a run counts 0.
-- Depends on c_divisor, c_phase.
-- Nothing without c_divisor, c_phase.
WITH measured AS (
    UNPIVOT c_phase ON wall_ns, compute_ns, exposed_comm_ns, free_ns INTO NAME what VALUE ns
), exact AS (
    SELECT side, run, phase, replace(what, '_ns', '') AS what, divisor, runs, sum(ns) AS ns
    FROM measured JOIN c_divisor USING (side, run, capture)
    WHERE domain = CASE WHEN what = 'wall_ns' THEN 'wall' ELSE 'phase_device' END
    GROUP BY ALL
)
SELECT r.side, r.run, p.phase, p.what, coalesce(sum(e.ns * e.runs / e.divisor ORDER BY e.divisor), 0) AS ns
FROM (SELECT DISTINCT side, phase, what FROM exact) AS p
JOIN (SELECT DISTINCT side, run, domain FROM c_divisor) AS r ON r.side = p.side AND r.domain = CASE WHEN p.what = 'wall' THEN 'wall' ELSE 'phase_device' END
LEFT JOIN exact AS e ON e.side = r.side AND e.run = r.run AND e.phase = p.phase AND e.what = p.what
GROUP BY r.side, r.run, p.phase, p.what ORDER BY p.phase, p.what, r.side, r.run;
