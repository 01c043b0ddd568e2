-- Framework operators by name. If no operator with a time stamp was read for a capture, the profiler's own totals are used.
-- Depends on host_op, phase, reported_operator, step.
INSERT INTO r_operator
SELECT o.capture, o.step, p.name, o.name, count(*), sum(o.end_ns - o.start_ns), sum(o.self_ns), sum(o.device_ns), sum(o.device_self_ns),
       min(o.end_ns - o.start_ns), max(o.end_ns - o.start_ns)
FROM host_op AS o LEFT JOIN phase AS p ON p.capture = o.capture AND p.id = o.phase GROUP BY ALL;
INSERT INTO r_operator
SELECT r.capture, s.step, NULL, r.name, r.calls, r.host_ns, r.host_self_ns, r.device_ns, r.device_self_ns, NULL, NULL
FROM reported_operator AS r
LEFT JOIN (SELECT capture, min(step) AS step FROM step GROUP BY capture HAVING count(*) = 1) AS s ON s.capture = r.capture
WHERE r.capture NOT IN (SELECT capture FROM host_op);
