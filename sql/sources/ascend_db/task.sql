-- Device tasks with a usable time, without duplicates. A duplicate would multiply everything that is joined with it. A task without a device ran on
-- the only one of its process.
-- Depends on db_capture, is_span, src_TASK, text_by_id.
-- Nothing without src_TASK.
CREATE OR REPLACE TEMP TABLE task AS
SELECT src_TASK.capture, task_id, start_ns, end_ns, coalesce(src_TASK.device_id, db_capture.device_id) AS device_id, connection_id, stream, value AS task_type
FROM src_TASK LEFT JOIN text_by_id ON text_by_id.capture = src_TASK.capture AND id = task_type
LEFT JOIN db_capture ON db_capture.capture = src_TASK.capture;
SET VARIABLE has_damaged_task = EXISTS (FROM task WHERE NOT is_span(start_ns, end_ns));
DELETE FROM task WHERE getvariable('has_damaged_task') AND NOT is_span(start_ns, end_ns);
SET VARIABLE tasks_of_one_id = (SELECT count(task_id) > count(DISTINCT hash(capture, task_id)) FILTER (task_id IS NOT NULL) FROM task);
CREATE OR REPLACE TEMP TABLE repeated_row AS
SELECT capture, count(task_id) - count(DISTINCT task_id) AS repeated FROM task WHERE getvariable('tasks_of_one_id') GROUP BY capture;
DELETE FROM task WHERE getvariable('tasks_of_one_id') AND task_id IS NOT NULL
    AND rowid NOT IN (SELECT min(rowid) FROM task GROUP BY capture, task_id);
