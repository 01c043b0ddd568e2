-- Spans of nn.Module calls, out of the Python trace. Depends on src_PYTORCH_API, text_by_id.
INSERT INTO module
SELECT getvariable('capture'), p.thread, substr(n.value, 12), p.start_ns, p.end_ns
FROM src_PYTORCH_API AS p JOIN text_by_id AS n ON n.id = p.name
WHERE p.type = 50003 AND starts_with(n.value, 'nn.Module: ') AND p.start_ns IS NOT NULL AND p.end_ns >= p.start_ns;
