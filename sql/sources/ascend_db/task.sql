-- Device tasks of this capture with a usable time. Depends on src_TASK, text_by_id.
CREATE OR REPLACE TEMP TABLE task AS
SELECT task_id, start_ns, end_ns, device_id, connection_id, stream, value AS task_type
FROM src_TASK LEFT JOIN text_by_id ON id = task_type
WHERE is_span(start_ns, end_ns);
