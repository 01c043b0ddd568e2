-- What counts as computation on the host, of captures without a device.
-- Variables: capture.
-- Depends on capture, coverage, placed.
INSERT INTO host_compute
SELECT p.id, getvariable('capture'), p.step, p.phase, p.start_ns, p.end_ns, v.busy_ns, v.gap_ns
FROM placed AS p JOIN capture AS c ON c.capture = getvariable('capture') AND c.executor = 'host'
LEFT JOIN (FROM coverage WHERE what = 'kernel') AS v USING (id)
WHERE p.what = 'kernel';
