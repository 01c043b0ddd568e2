-- Framework operators. The profiler of early 2025 swapped the columns of shapes and data types: a text with letters is not a shape.
-- Variables: keep_events.
-- Depends on argument_text, framework, text_by_id.
-- Nothing without framework.
INSERT INTO stage_host_op
SELECT f.capture, f.id, f.thread, n.value, f.start_ns, f.end_ns, f.sequence_number,
       CASE WHEN getvariable('keep_events') THEN argument_text(CASE WHEN regexp_matches(s.value, '[A-Za-z]') THEN d.value ELSE s.value END) END,
       CASE WHEN getvariable('keep_events') THEN argument_text(CASE WHEN regexp_matches(s.value, '[A-Za-z]') THEN s.value ELSE d.value END) END
FROM framework AS f
LEFT JOIN text_by_id AS n ON n.capture = f.capture AND n.id = f.name
LEFT JOIN text_by_id AS s ON s.capture = f.capture AND s.id = f.input_shapes
LEFT JOIN text_by_id AS d ON d.capture = f.capture AND d.id = f.input_dtypes
WHERE f.type = 50001 AND f.sound AND NOT coalesce(starts_with(n.value, 'ProfilerStep#'), FALSE);
