-- Device tasks of this capture with a usable time, each once: a task that stands twice would multiply all that is joined with it.
-- Depends on is_span, src_TASK, text_by_id.
CREATE OR REPLACE TEMP TABLE task AS
SELECT task_id, start_ns, end_ns, device_id, connection_id, stream, value AS task_type
FROM src_TASK LEFT JOIN text_by_id ON id = task_type
WHERE is_span(start_ns, end_ns);
SET VARIABLE tasks_of_one_id = (SELECT count(task_id) > count(DISTINCT task_id) FROM task);
SET VARIABLE repeated_rows = (SELECT count(task_id) - count(DISTINCT task_id) FROM task WHERE getvariable('tasks_of_one_id'));
DELETE FROM task WHERE getvariable('tasks_of_one_id') AND task_id IS NOT NULL AND rowid NOT IN (SELECT min(rowid) FROM task GROUP BY task_id);
