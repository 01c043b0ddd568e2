-- Makes communication_op: the rows of COMMUNICATION_OP with a usable time, and the collectives that only have tasks (is_lost). These begin with their
-- first task and end with their last, as all others do. What was launched before the profile began was never described.
-- Variables: captures.
-- Depends on collective_task, is_span, src_COMMUNICATION_OP, src_COMMUNICATION_TASK_INFO, task.
-- Nothing without collective_task + src_COMMUNICATION_OP.
CREATE OR REPLACE TEMP TABLE communication_op AS
SELECT *, FALSE AS is_lost FROM src_COMMUNICATION_OP WHERE is_span(start_ns, end_ns);
CREATE OR REPLACE TEMP TABLE lost_collective AS
SELECT t.capture, t.collective_id AS op_id, min(t.start_ns) AS start_ns, max(t.end_ns) AS end_ns
FROM collective_task AS t ANTI JOIN communication_op AS o ON o.capture = t.capture AND o.op_id = t.collective_id
LEFT JOIN (SELECT capture, min(start_ns) AS first_ns FROM communication_op GROUP BY capture) AS k ON k.capture = t.capture
WHERE list_contains(getvariable('captures'), t.capture)
GROUP BY t.capture, t.collective_id HAVING min(t.start_ns) >= coalesce(any_value(k.first_ns), min(t.start_ns));
SET VARIABLE has_lost_collective = EXISTS (FROM lost_collective);
INSERT INTO communication_op BY NAME
SELECT l.capture, l.op_id, l.start_ns, l.end_ns, min(t.connection_id) AS connection_id, min(t.device_id) AS device_id, TRUE AS is_lost
FROM lost_collective AS l JOIN src_COMMUNICATION_TASK_INFO AS c USING (capture, op_id) JOIN task AS t USING (capture, task_id)
WHERE getvariable('has_lost_collective')
GROUP BY ALL;
