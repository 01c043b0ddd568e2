-- Milliseconds of each phase per rank and step. Depends on r_phase, shown_device, shown_step.
WITH divisor AS (SELECT CAST(count(*) AS DOUBLE) AS times FROM shown_step)
SELECT p.phase, any_value(p.role) AS role, sum(p.calls) / any_value(times) AS calls, sum(p.wall_ns) / 1e6 / any_value(times) AS wall_ms,
       sum(p.compute_ns) / 1e6 / any_value(times) AS compute_ms, sum(p.exposed_comm_ns) / 1e6 / any_value(times) AS exposed_comm_ms,
       sum(p.free_ns) / 1e6 / any_value(times) AS free_ms
FROM r_phase AS p
JOIN shown_device AS d ON d.capture = p.capture AND d.step = p.step AND d.device_id IS NOT DISTINCT FROM p.device_id
CROSS JOIN divisor
GROUP BY p.phase ORDER BY p.phase = '(outside)', greatest(wall_ms, compute_ms) DESC, p.phase;
