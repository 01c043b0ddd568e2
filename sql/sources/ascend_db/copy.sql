-- Copies: tasks of the copy engines that do not belong to a collective, neither as one of its tasks nor by its launch. A copy has no
-- node-level launch; the call into CANN on its connection launched it.
-- Depends on host_api, host_op_by_connection, launch, src_COMMUNICATION_OP, src_COMMUNICATION_TASK_INFO,
-- src_ENUM_MEMCPY_OPERATION, src_MEMCPY_INFO, task.
-- Nothing without task.
INSERT INTO stage_copy
WITH moved AS MATERIALIZED (   -- first, because most of these tasks belong to a collective
    SELECT t.* FROM task AS t
    ANTI JOIN src_COMMUNICATION_TASK_INFO AS i ON i.capture = t.capture AND i.task_id = t.task_id
    ANTI JOIN src_COMMUNICATION_OP AS o ON o.capture = t.capture AND o.connection_id = t.connection_id
    WHERE t.task_type IN ('MEMCPY_ASYNC', 'PCIE_DMA_SQE', 'SDMA_SQE', 'MEMCPY', 'SDMA') AND t.task_id IS NOT NULL
), call_of AS (
    SELECT capture, connection_id, min(start_ns) AS start_ns FROM host_api SEMI JOIN moved USING (capture, connection_id) GROUP BY capture, connection_id
)
SELECT t.capture, t.task_id, t.device_id, t.stream,
       CASE lower(replace(coalesce(e.name, ''), ' ', '_'))
           WHEN 'host_to_device' THEN 'host_to_device' WHEN 'device_to_host' THEN 'device_to_host'
           WHEN 'device_to_device' THEN 'device_to_device' ELSE 'memcpy_async' END,
       m.size_bytes, t.start_ns, t.end_ns, NULL, coalesce(l.launch_ns, c.start_ns), h.host_op_ns
FROM moved AS t
LEFT JOIN src_MEMCPY_INFO AS m USING (capture, task_id)
LEFT JOIN src_ENUM_MEMCPY_OPERATION AS e ON e.capture = m.capture AND e.id = m.operation
LEFT JOIN launch AS l USING (capture, connection_id)
LEFT JOIN host_op_by_connection AS h USING (capture, connection_id)
LEFT JOIN call_of AS c ON c.capture = t.capture AND c.connection_id = t.connection_id;
