-- nn.Module calls by name, with the kernels launched inside each span on its own thread. Depends on module, host_op, step, phase.
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
), marked AS (
    SELECT capture, step, start_ns AS step_start_ns, end_ns AS step_end_ns FROM step WHERE start_ns IS NOT NULL
), stepped AS (
    SELECT t.*, coalesce(o.step, CASE WHEN t.start_ns <= m.step_end_ns THEN m.step END) AS step
    FROM total AS t ASOF LEFT JOIN marked AS m ON m.capture = t.capture AND t.start_ns >= m.step_start_ns
    LEFT JOIN step AS o ON o.capture = t.capture AND o.inferred
)
SELECT s.capture, s.step, CASE WHEN s.start_ns < p.end_ns THEN p.name END, s.name, count(*), sum(s.end_ns - s.start_ns), sum(s.device_ns)
FROM stepped AS s ASOF LEFT JOIN phase AS p ON p.capture = s.capture AND s.start_ns >= p.start_ns
GROUP BY ALL;
