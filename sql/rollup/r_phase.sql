-- Times by phase, for captures that have phases. Host ranges give the wall time; the rest of the step's host time is '(outside)'.
-- Depends on collective, host_compute, kernel, phase, r_time, step.
-- Nothing without phase.
INSERT INTO r_phase
WITH task AS (
    SELECT capture, device_id, step, phase, busy_ns AS compute_ns, CAST(0 AS BIGINT) AS comm_ns, CAST(0 AS BIGINT) AS exposed_ns, gap_ns, 1 AS kernels, 0 AS collectives
    FROM kernel WHERE step IS NOT NULL
    UNION ALL
    SELECT capture, NULL, step, phase, busy_ns, 0, 0, gap_ns, NULL, 0 FROM host_compute WHERE step IS NOT NULL
    UNION ALL
    SELECT capture, device_id, step, phase, 0, busy_ns, exposed_ns, gap_ns, 0, 1 FROM collective WHERE step IS NOT NULL
), device AS (
    SELECT t.capture, t.device_id, t.step, p.role, coalesce(p.name, '(outside)') AS phase, sum(compute_ns) AS compute_ns, sum(comm_ns) AS comm_ns,
           sum(exposed_ns) AS exposed_ns, sum(gap_ns) AS free_ns, sum(kernels) AS kernels, sum(collectives) AS collectives
    FROM task AS t LEFT JOIN phase AS p ON p.capture = t.capture AND p.id = t.phase
    GROUP BY ALL
), host AS (
    SELECT capture, step, role, name AS phase, sum(end_ns - start_ns) AS wall_ns, count(DISTINCT call) AS calls
    FROM phase WHERE step IS NOT NULL GROUP BY ALL
), rest AS (   -- host time of a marked step outside all phases
    SELECT s.capture, s.step, NULL AS role, '(outside)' AS phase,
           greatest(any_value(s.end_ns - s.start_ns) - coalesce(sum(h.wall_ns), 0), 0) AS wall_ns, NULL AS calls
    FROM step AS s LEFT JOIN host AS h ON h.capture = s.capture AND h.step = s.step
    WHERE s.start_ns IS NOT NULL GROUP BY s.capture, s.step
), wall AS (
    FROM host UNION ALL FROM rest
), devices AS (
    SELECT DISTINCT capture, device_id, step FROM r_time
    UNION ALL SELECT capture, NULL, step FROM step AS s WHERE NOT EXISTS (FROM r_time AS r WHERE r.capture = s.capture AND r.step = s.step)
), walls AS (
    SELECT wall.capture, d.device_id, wall.step, wall.role, wall.phase, wall.wall_ns, wall.calls
    FROM wall JOIN devices AS d ON d.capture = wall.capture AND d.step = wall.step
), key AS (
    SELECT capture, device_id, step, role, phase FROM device UNION SELECT capture, device_id, step, role, phase FROM walls
)
SELECT key.*, (key.capture, key.phase) IN (SELECT (capture, name) FROM phase WHERE by_user), w.wall_ns, w.calls,
       CASE WHEN r.compute_ns IS NOT NULL THEN coalesce(d.compute_ns, 0) END,
       CASE WHEN r.comm_ns IS NOT NULL THEN coalesce(d.comm_ns, 0) END,
       CASE WHEN r.compute_ns IS NOT NULL THEN coalesce(d.exposed_ns, 0) END,
       CASE WHEN r.compute_ns IS NOT NULL THEN coalesce(d.free_ns, 0) END,
       CASE WHEN r.kernels IS NOT NULL THEN coalesce(d.kernels, 0) END,
       CASE WHEN r.comm_ns IS NOT NULL THEN coalesce(d.collectives, 0) END
FROM (FROM key WHERE capture IN (SELECT capture FROM phase)) AS key
LEFT JOIN device AS d ON d.capture = key.capture AND d.device_id IS NOT DISTINCT FROM key.device_id AND d.step = key.step
    AND d.role IS NOT DISTINCT FROM key.role AND d.phase = key.phase
LEFT JOIN walls AS w ON w.capture = key.capture AND w.device_id IS NOT DISTINCT FROM key.device_id AND w.step = key.step
    AND w.role IS NOT DISTINCT FROM key.role AND w.phase = key.phase
LEFT JOIN r_time AS r ON r.capture = key.capture AND r.device_id IS NOT DISTINCT FROM key.device_id AND r.step = key.step;
