-- Calls by layer and name. If no call of a capture was read, the profiler's own totals are used.
-- Depends on host_api, place, r_operator, reported_api, step.
-- Nothing without host_api + r_operator + reported_api.
INSERT INTO r_api
WITH kind AS (   -- numbers instead of names, because the ASOF join sorts all columns that it carries
    SELECT layer, name, row_number() OVER (ORDER BY layer, name) AS kind FROM (SELECT DISTINCT layer, name FROM host_api)
), narrow AS (
    SELECT a.capture, k.kind, a.start_ns, a.end_ns - a.start_ns AS length_ns
    FROM host_api AS a JOIN kind AS k ON k.layer = a.layer AND k.name IS NOT DISTINCT FROM a.name
), stepped AS (
    SELECT a.capture, a.kind, a.length_ns, p.step
    FROM narrow AS a ASOF LEFT JOIN place AS p ON p.capture = a.capture AND a.start_ns >= p.from_ns
), summed AS (
    SELECT capture, step, kind, count(*) AS calls, sum(length_ns) AS sum_ns, min(length_ns) AS min_ns, max(length_ns) AS max_ns
    FROM stepped GROUP BY ALL
)
SELECT s.capture, s.step, k.layer, k.name, s.calls, s.sum_ns, NULL, s.min_ns, s.max_ns FROM summed AS s JOIN kind AS k USING (kind);
INSERT INTO r_api
SELECT capture, step, 'framework', name, sum(calls), sum(host_ns), sum(host_self_ns), min(min_ns), max(max_ns) FROM r_operator GROUP BY ALL;
INSERT INTO r_api
SELECT r.capture, s.step, r.layer, r.name, r.calls, r.total_ns, NULL, r.min_ns, r.max_ns
FROM reported_api AS r
LEFT JOIN (SELECT capture, min(step) AS step FROM step GROUP BY capture HAVING count(*) = 1) AS s ON s.capture = r.capture
WHERE r.capture NOT IN (SELECT capture FROM host_api);
