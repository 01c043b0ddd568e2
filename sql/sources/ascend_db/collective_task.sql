-- Tasks of collectives.
-- Depends on src_COMMUNICATION_TASK_INFO, src_ENUM_HCCL_LINK_TYPE, src_ENUM_HCCL_TRANSPORT_TYPE, task, text_by_id.
-- Nothing without src_COMMUNICATION_TASK_INFO, task.
-- Runs after forget_framework.
INSERT INTO collective_task
SELECT c.capture, c.op_id, n.value, c.plane, t.start_ns, t.end_ns, c.size_bytes, c.src_rank, c.dst_rank, tr.name, li.name
FROM src_COMMUNICATION_TASK_INFO AS c
JOIN task AS t USING (capture, task_id)
LEFT JOIN text_by_id AS n ON n.capture = c.capture AND n.id = c.task_type
LEFT JOIN src_ENUM_HCCL_TRANSPORT_TYPE AS tr ON tr.capture = c.capture AND tr.id = c.transport
LEFT JOIN src_ENUM_HCCL_LINK_TYPE AS li ON li.capture = c.capture AND li.id = c.link_type
WHERE c.op_id IS NOT NULL;
