-- Kernels: COMPUTE_TASK_INFO with the times of TASK. Without PMU values the runtime's task type tells cube from vector.
-- Depends on task, launch, host_op_by_connection, cube, text_by_id.
INSERT INTO stage_kernel
SELECT
    k.task_id, t.device_id, t.stream, n.value, ot.value, ct.value, t.task_type, t.start_ns, t.end_ns, NULL,
    ish.value, idt.value, ifm.value, osh.value, odt.value, ofm.value,
    coalesce(k.block_num, CASE WHEN getvariable('schema_minor') < 2 THEN k.block_dim END),
    NULL, l.launch_ns, h.host_op_id, h.host_op_ns,
    CASE WHEN getvariable('has_pmu') THEN c.task_id IS NOT NULL
         ELSE coalesce(t.task_type IN ('KERNEL_AICORE', 'KERNEL_MIX_AIC'), FALSE) END
FROM src_COMPUTE_TASK_INFO AS k
JOIN task AS t USING (task_id)
LEFT JOIN launch AS l USING (connection_id)
LEFT JOIN host_op_by_connection AS h USING (connection_id)
LEFT JOIN cube AS c ON c.task_id = k.task_id
LEFT JOIN text_by_id AS n ON n.id = k.name
LEFT JOIN text_by_id AS ot ON ot.id = k.op_type
LEFT JOIN text_by_id AS ct ON ct.id = k.core_type
LEFT JOIN text_by_id AS ish ON ish.id = k.input_shapes
LEFT JOIN text_by_id AS idt ON idt.id = k.input_dtypes
LEFT JOIN text_by_id AS ifm ON ifm.id = k.input_formats
LEFT JOIN text_by_id AS osh ON osh.id = k.output_shapes
LEFT JOIN text_by_id AS odt ON odt.id = k.output_dtypes
LEFT JOIN text_by_id AS ofm ON ofm.id = k.output_formats;
