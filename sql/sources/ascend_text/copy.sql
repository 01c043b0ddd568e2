-- Copies between host and device, or on a device, that are not part of a collective. Only newer traces have their size and direction.
-- Variables: capture, text_device.
-- Depends on trace_comm, trace_link, trace_task.
INSERT INTO stage_copy
SELECT getvariable('capture'), row_number() OVER (ORDER BY t.start_ns), coalesce(getvariable('text_device'), t.device_id), t.stream,
       CASE replace(lower(t.operation), ' ', '_')
           WHEN 'host_to_device' THEN 'host_to_device' WHEN 'host_to_device_ex' THEN 'host_to_device'
           WHEN 'device_to_host' THEN 'device_to_host' WHEN 'device_to_host_ex' THEN 'device_to_host'
           WHEN 'device_to_device' THEN 'device_to_device' WHEN 'addr_device_to_device' THEN 'device_to_device' ELSE 'memcpy_async' END,
       CASE WHEN t.size_bytes > 0 THEN t.size_bytes END, t.start_ns, t.end_ns, NULL, l.launch_ns, l.host_op_ns
FROM trace_task AS t
LEFT JOIN trace_link AS l ON l.pid = t.pid AND l.tid = t.tid AND l.start_ns = t.start_ns
ANTI JOIN (SELECT stream, start_ns FROM trace_comm WHERE NOT whole) AS part ON part.stream = t.stream AND part.start_ns = t.start_ns
WHERE t.name IN ('MEMCPY_ASYNC', 'MEMCPY') OR t.task_type IN ('MEMCPY_ASYNC', 'MEMCPY', 'PCIE_DMA_SQE', 'SDMA_SQE');
