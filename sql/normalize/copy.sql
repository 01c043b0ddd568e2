-- Copies with their step, phase and exposed time.
-- Depends on exposed, placed, stage_copy.
-- Nothing without placed, stage_copy.
-- Runs after too_long.
INSERT INTO copy
SELECT c.id, c.capture, c.device_id, c.stream, p.step, p.phase, c.kind, c.size_bytes, c.start_ns, c.end_ns, coalesce(e.exposed_ns, 0)
FROM stage_copy AS c
JOIN (FROM placed WHERE what = 'copy') AS p USING (capture, id)
LEFT JOIN (FROM exposed WHERE what = 'copy') AS e USING (capture, id);
