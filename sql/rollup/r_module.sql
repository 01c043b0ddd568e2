-- nn.Module calls by name, with the kernels launched inside each span on its own thread.
-- Depends on host_op, module, phase, place.
-- Nothing without module.
INSERT INTO r_module
WITH running AS (
    SELECT capture, thread, start_ns, sum(device_self_ns) OVER (PARTITION BY capture, thread ORDER BY start_ns) AS upto_ns
    FROM (SELECT capture, thread, start_ns, sum(device_self_ns) AS device_self_ns FROM host_op WHERE device_self_ns > 0 GROUP BY ALL)
), before AS (
    SELECT m.*, coalesce(r.upto_ns, 0) AS before_ns
    FROM module AS m ASOF LEFT JOIN running AS r ON r.capture = m.capture AND r.thread = m.thread AND m.start_ns > r.start_ns
), total AS (
    SELECT b.capture, b.name, b.start_ns, b.end_ns, coalesce(r.upto_ns, 0) - b.before_ns AS device_ns
    FROM before AS b ASOF LEFT JOIN running AS r ON r.capture = b.capture AND r.thread = b.thread AND b.end_ns > r.start_ns
)
SELECT t.capture, l.step, p.name, t.name, count(*), sum(t.end_ns - t.start_ns), sum(t.device_ns)
FROM total AS t ASOF LEFT JOIN place AS l ON l.capture = t.capture AND t.start_ns >= l.from_ns
LEFT JOIN phase AS p ON p.capture = l.capture AND p.id = l.phase
GROUP BY ALL;
