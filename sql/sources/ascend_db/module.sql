-- Spans of nn.Module calls, from the Python trace.
-- Depends on framework, text_by_id.
-- Nothing without framework, text_by_id.
INSERT INTO module
SELECT f.capture, f.thread, substr(n.value, 12), f.start_ns, f.end_ns
FROM framework AS f JOIN text_by_id AS n ON n.capture = f.capture AND n.id = f.name
WHERE f.type = 50003 AND f.sound;
