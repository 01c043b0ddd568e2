-- Tasks of collectives. Depends on task, src_COMMUNICATION_TASK_INFO, text_by_id, src_ENUM_HCCL_TRANSPORT_TYPE, src_ENUM_HCCL_LINK_TYPE.
INSERT INTO collective_task
SELECT getvariable('capture'), c.op_id, n.value, c.plane, t.start_ns, t.end_ns, c.size_bytes, c.src_rank, c.dst_rank, tr.name, li.name
FROM src_COMMUNICATION_TASK_INFO AS c
JOIN task AS t USING (task_id)
LEFT JOIN text_by_id AS n ON n.id = c.task_type
LEFT JOIN src_ENUM_HCCL_TRANSPORT_TYPE AS tr ON tr.id = c.transport
LEFT JOIN src_ENUM_HCCL_LINK_TYPE AS li ON li.id = c.link_type
WHERE c.op_id IS NOT NULL;
