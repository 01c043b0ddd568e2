-- Section phases.
-- Depends on c_divisor, c_phase, side_mean.
-- Nothing without c_divisor, c_phase.
WITH measured AS (
    UNPIVOT c_phase ON wall_ns, calls, compute_ns, exposed_comm_ns, free_ns INTO NAME what VALUE ns
), exact AS (
    SELECT side, phase, min(role) AS role, what, divisor, sum(ns) AS ns
    FROM measured JOIN c_divisor USING (side, run, capture)
    WHERE domain = CASE WHEN what IN ('wall_ns', 'calls') THEN 'wall' ELSE 'phase_device' END
    GROUP BY side, phase, what, divisor
)
SELECT phase AS name, min(role) AS role, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline' AND what = 'calls') AS baseline_calls,
       side_mean(ns, divisor, side = 'new' AND what = 'calls') AS new_calls,
       side_mean(ns, divisor, side = 'baseline' AND what = 'wall_ns') AS baseline_wall_ns,
       side_mean(ns, divisor, side = 'new' AND what = 'wall_ns') AS new_wall_ns,
       side_mean(ns, divisor, side = 'baseline' AND what NOT IN ('wall_ns', 'calls')) AS baseline_device_ns,
       side_mean(ns, divisor, side = 'new' AND what NOT IN ('wall_ns', 'calls')) AS new_device_ns,
       side_mean(ns, divisor, side = 'baseline' AND what = 'compute_ns') AS baseline_compute_ns,
       side_mean(ns, divisor, side = 'new' AND what = 'compute_ns') AS new_compute_ns,
       side_mean(ns, divisor, side = 'baseline' AND what = 'exposed_comm_ns') AS baseline_exposed_comm_ns,
       side_mean(ns, divisor, side = 'new' AND what = 'exposed_comm_ns') AS new_exposed_comm_ns,
       side_mean(ns, divisor, side = 'baseline' AND what = 'free_ns') AS baseline_free_ns,
       side_mean(ns, divisor, side = 'new' AND what = 'free_ns') AS new_free_ns
FROM exact GROUP BY phase;
