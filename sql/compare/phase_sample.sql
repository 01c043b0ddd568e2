-- One value per run, phase and kind of time, in ns per member and step; a phase absent in a step counts 0.
-- Depends on c_divisor, c_phase.
-- Nothing without c_divisor.
WITH measured AS (
    UNPIVOT c_phase ON wall_ns, compute_ns, exposed_comm_ns, free_ns INTO NAME what VALUE ns
), exact AS (
    SELECT side, run, phase, replace(what, '_ns', '') AS what, divisor, runs, sum(ns) AS ns
    FROM measured JOIN c_divisor USING (side, run, capture)
    WHERE domain = CASE WHEN what = 'wall_ns' THEN 'wall' ELSE 'phase_device' END
    GROUP BY ALL
)
SELECT side, run, phase, what, sum(ns * runs / divisor ORDER BY divisor) AS ns FROM exact GROUP BY ALL ORDER BY phase, what, side, run;
