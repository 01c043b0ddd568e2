-- Device range of each step (torch_npu's definition; docs/design.md §4). It starts with the first device task launched inside the host
-- step. It ends with the host step or with the last of these tasks, whichever is later.
-- Depends on device_task, step.
-- Nothing without device_task, step.
CREATE OR REPLACE TEMP TABLE step_range AS
SELECT t.capture, t.device_id, s.step, min(t.start_ns) AS range_start_ns, greatest(any_value(s.end_ns), max(t.end_ns)) AS range_end_ns
FROM device_task AS t JOIN step AS s ON s.capture = t.capture AND s.step = coalesce(t.reported_step, t.launch_step)
WHERE s.start_ns IS NOT NULL
GROUP BY t.capture, t.device_id, s.step;
