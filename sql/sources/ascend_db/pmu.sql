-- AI Core counters, only where events are kept.
-- Variables: keep_events.
-- Depends on src_TASK_PMU_INFO, text_by_id.
-- Nothing without src_TASK_PMU_INFO, text_by_id.
INSERT INTO pmu
SELECT p.capture, p.task_id, n.value, p.value
FROM src_TASK_PMU_INFO AS p JOIN text_by_id AS n ON n.capture = p.capture AND n.id = p.name
WHERE getvariable('keep_events') AND p.task_id IS NOT NULL;
