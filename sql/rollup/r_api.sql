-- Calls by layer and name; the profiler's own sums where no call was read. Depends on host_api, r_operator, reported_api, step.
INSERT INTO r_api
WITH marked AS (
    SELECT capture, step, start_ns AS step_start_ns, end_ns AS step_end_ns FROM step WHERE start_ns IS NOT NULL
), stepped AS (
    SELECT a.capture, a.layer, a.name, a.end_ns - a.start_ns AS length_ns, coalesce(o.step, CASE WHEN a.start_ns <= m.step_end_ns THEN m.step END) AS step
    FROM host_api AS a ASOF LEFT JOIN marked AS m ON m.capture = a.capture AND a.start_ns >= m.step_start_ns
    LEFT JOIN step AS o ON o.capture = a.capture AND o.inferred
)
SELECT capture, step, layer, name, count(*), sum(length_ns), NULL, min(length_ns), max(length_ns) FROM stepped GROUP BY ALL;
INSERT INTO r_api
SELECT capture, step, 'framework', name, sum(calls), sum(host_ns), sum(self_ns), min(min_ns), max(max_ns) FROM r_operator GROUP BY ALL;
INSERT INTO r_api
SELECT r.capture, s.step, r.layer, r.name, r.calls, r.total_ns, NULL, r.min_ns, r.max_ns
FROM reported_api AS r
LEFT JOIN (SELECT capture, min(step) AS step FROM step GROUP BY capture HAVING count(*) = 1) AS s ON s.capture = r.capture
WHERE r.capture NOT IN (SELECT capture FROM host_api);
