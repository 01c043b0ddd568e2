-- Milliseconds of each phase per member of its role and step.
-- Depends on r_phase, shown_device, shown_divisor.
SELECT p.phase, any_value(p.role) AS role,
       sum(p.calls / times ORDER BY p.calls / times) AS calls,
       sum(p.wall_ns / 1e6 / times ORDER BY p.wall_ns / 1e6 / times) AS wall_ms,
       sum(p.compute_ns / 1e6 / times ORDER BY p.compute_ns / 1e6 / times) AS compute_ms,
       sum(p.exposed_comm_ns / 1e6 / times ORDER BY p.exposed_comm_ns / 1e6 / times) AS exposed_comm_ms,
       sum(p.free_ns / 1e6 / times ORDER BY p.free_ns / 1e6 / times) AS free_ms
FROM r_phase AS p
JOIN shown_device AS d ON d.capture = p.capture AND d.step = p.step AND d.device_id IS NOT DISTINCT FROM p.device_id
JOIN shown_divisor AS v ON v.capture = p.capture
GROUP BY p.phase ORDER BY p.phase = '(outside)', greatest(wall_ms, compute_ms) DESC, p.phase;
