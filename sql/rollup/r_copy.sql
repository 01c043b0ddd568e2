-- Copies by kind.
-- Depends on copy, phase.
-- Nothing without copy.
INSERT INTO r_copy
SELECT c.capture, c.device_id, c.step, p.name, c.kind, count(*), sum(c.end_ns - c.start_ns), sum(c.size_bytes), sum(c.exposed_ns)
FROM copy AS c LEFT JOIN phase AS p ON p.capture = c.capture AND p.id = c.phase GROUP BY ALL;
