-- Copies: tasks of the copy engines that do not belong to a collective, neither as one of its tasks nor by its launch. A copy has no
-- node-level launch; the call into CANN on its connection launched it.
-- Depends on host_api, host_op_by_connection, launch, src_COMMUNICATION_OP, src_COMMUNICATION_TASK_INFO,
-- src_ENUM_MEMCPY_OPERATION, src_MEMCPY_INFO, task.
INSERT INTO stage_copy
WITH call AS (
    SELECT capture, connection_id, min(start_ns) AS start_ns FROM host_api
    WHERE (capture, connection_id) IN (SELECT (capture, connection_id) FROM task WHERE task_type IN ('MEMCPY_ASYNC', 'PCIE_DMA_SQE', 'SDMA_SQE', 'MEMCPY', 'SDMA'))
    GROUP BY capture, connection_id
)
SELECT t.capture, t.task_id, t.device_id, t.stream,
       CASE lower(replace(coalesce(e.name, ''), ' ', '_'))
           WHEN 'host_to_device' THEN 'host_to_device' WHEN 'device_to_host' THEN 'device_to_host'
           WHEN 'device_to_device' THEN 'device_to_device' ELSE 'memcpy_async' END,
       m.size_bytes, t.start_ns, t.end_ns, NULL, coalesce(l.launch_ns, c.start_ns), h.host_op_ns
FROM task AS t
LEFT JOIN src_MEMCPY_INFO AS m USING (capture, task_id)
LEFT JOIN src_ENUM_MEMCPY_OPERATION AS e ON e.capture = m.capture AND e.id = m.operation
LEFT JOIN launch AS l USING (capture, connection_id)
LEFT JOIN host_op_by_connection AS h USING (capture, connection_id)
LEFT JOIN call AS c ON c.capture = t.capture AND c.connection_id = t.connection_id
WHERE t.task_type IN ('MEMCPY_ASYNC', 'PCIE_DMA_SQE', 'SDMA_SQE', 'MEMCPY', 'SDMA')
  AND t.task_id IS NOT NULL
  AND NOT EXISTS (FROM src_COMMUNICATION_TASK_INFO AS i WHERE i.capture = t.capture AND i.task_id = t.task_id)
  AND NOT EXISTS (FROM src_COMMUNICATION_OP AS o WHERE o.capture = t.capture AND o.connection_id = t.connection_id);
