-- Times by capture, device and step (docs/design.md §4). If only the host was recorded, its operators replace kernels, and device_id is
-- NULL. Where the clocks of host and device are more than a profile apart, nothing tells what is before the first task and after the last.
-- Depends on collective, copy, device_window, host_compute, kernel, longest_profile_ns, step.
-- Nothing without collective + host_compute + kernel.
INSERT INTO r_time
WITH k AS (
    SELECT capture, device_id, step, sum(busy_ns) AS compute_ns, sum(gap_ns) AS gap_ns, min(start_ns) AS first_ns, max(end_ns) AS last_ns,
           count(*) AS kernels
    FROM kernel WHERE step IS NOT NULL GROUP BY ALL
    UNION ALL
    SELECT capture, NULL, step, sum(busy_ns), sum(gap_ns), min(start_ns), max(end_ns), NULL FROM host_compute WHERE step IS NOT NULL GROUP BY ALL
), c AS (
    SELECT capture, device_id, step, sum(busy_ns) AS comm_ns, sum(exposed_ns) AS exposed_ns, sum(gap_ns) AS gap_ns,
           min(start_ns) AS first_ns, max(end_ns) AS last_ns, count(*) AS collectives
    FROM collective WHERE step IS NOT NULL GROUP BY ALL
), p2p AS (   -- those of several groups may overlap
    SELECT capture, device_id, step, kind, start_ns, end_ns, max(end_ns) OVER earlier AS covered_ns, max(end_ns) FILTER (kind = 'recv') OVER earlier AS received_ns
    FROM collective WHERE kind IN ('send', 'recv', 'batch_send_recv') AND step IS NOT NULL AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    WINDOW earlier AS (PARTITION BY capture, device_id, step ORDER BY start_ns, end_ns, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), p AS (
    SELECT capture, device_id, step, sum(greatest(end_ns - greatest(start_ns, received_ns), 0)) FILTER (kind = 'recv') AS bubble_ns,
           sum(greatest(end_ns - greatest(start_ns, covered_ns), 0)) AS p2p_ns
    FROM p2p GROUP BY ALL
), y AS (
    SELECT capture, device_id, step, sum(exposed_ns) AS exposed_copy_ns FROM copy WHERE step IS NOT NULL GROUP BY ALL
), key AS (
    SELECT capture, device_id, step FROM k UNION SELECT capture, device_id, step FROM c
), has_kernels AS (
    SELECT DISTINCT capture FROM kernel WHERE end_ns IS NOT NULL UNION SELECT DISTINCT capture FROM host_compute
), has_tasks AS (   -- captures whose device tasks, and so copies, are known; kernel_details.csv alone lists no copies
    SELECT DISTINCT capture FROM device_window
), joined AS (
    SELECT key.capture, key.device_id, key.step,
           CASE WHEN h.capture IS NOT NULL THEN coalesce(k.compute_ns, 0) END AS compute_ns,
           coalesce(c.comm_ns, 0) AS comm_ns,
           CASE WHEN h.capture IS NOT NULL THEN coalesce(c.exposed_ns, 0) END AS exposed_comm_ns,
           CASE WHEN h.capture IS NOT NULL THEN least(k.first_ns, c.first_ns) END AS first_ns,
           CASE WHEN h.capture IS NOT NULL THEN greatest(k.last_ns, c.last_ns) END AS last_ns,
           CASE WHEN h.capture IS NOT NULL THEN coalesce(k.gap_ns, 0) + coalesce(c.gap_ns, 0) END AS free_ns,
           CASE WHEN h.capture IS NOT NULL AND w.capture IS NOT NULL THEN coalesce(y.exposed_copy_ns, 0) END AS exposed_copy_ns,
           CASE WHEN h.capture IS NOT NULL THEN coalesce(p.bubble_ns, 0) END AS bubble_ns,
           coalesce(p.p2p_ns, 0) AS p2p_ns,
           CASE WHEN h.capture IN (SELECT capture FROM kernel) THEN coalesce(k.kernels, 0) END AS kernels,
           coalesce(c.collectives, 0) AS collectives,
           s.end_ns - s.start_ns AS step_ns, near.start_ns AS step_start_ns, near.end_ns AS step_end_ns
    FROM key
    LEFT JOIN k ON k.capture = key.capture AND k.device_id IS NOT DISTINCT FROM key.device_id AND k.step = key.step
    LEFT JOIN c ON c.capture = key.capture AND c.device_id IS NOT DISTINCT FROM key.device_id AND c.step = key.step
    LEFT JOIN p ON p.capture = key.capture AND p.device_id IS NOT DISTINCT FROM key.device_id AND p.step = key.step
    LEFT JOIN y ON y.capture = key.capture AND y.device_id IS NOT DISTINCT FROM key.device_id AND y.step = key.step
    LEFT JOIN has_kernels AS h ON h.capture = key.capture
    LEFT JOIN has_tasks AS w ON w.capture = key.capture
    LEFT JOIN step AS s ON s.capture = key.capture AND s.step = key.step
    LEFT JOIN step AS near   -- on the clock of the device
        ON near.capture = key.capture AND near.step = key.step AND abs(near.start_ns - coalesce(k.first_ns, c.first_ns)) <= longest_profile_ns()
)
SELECT capture, device_id, step, compute_ns, comm_ns, exposed_comm_ns,
       CASE WHEN exposed_comm_ns IS NOT NULL THEN comm_ns - exposed_comm_ns END,
       last_ns - first_ns, free_ns, exposed_copy_ns, free_ns - exposed_copy_ns,
       bubble_ns, last_ns - first_ns - bubble_ns, p2p_ns,
       step_ns, first_ns - step_start_ns, step_end_ns - last_ns,
       first_ns, last_ns, kernels, collectives
FROM joined;
