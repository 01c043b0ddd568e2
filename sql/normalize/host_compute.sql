-- Computation on the host, for captures without a device.
-- Depends on capture, coverage, placed.
-- Nothing without capture, placed.
INSERT INTO host_compute
SELECT p.id, p.capture, p.step, p.phase, p.start_ns, p.end_ns, v.busy_ns, v.gap_ns
FROM placed AS p JOIN capture AS c ON c.capture = p.capture AND c.executor = 'host'
LEFT JOIN (FROM coverage WHERE what = 'kernel') AS v ON v.capture = p.capture AND v.id = p.id
WHERE p.what = 'kernel';
