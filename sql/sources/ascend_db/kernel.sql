-- Kernels: computing tasks with the times of TASK. Without PMU values, the runtime's task type decides between cube and vector.
-- Texts are joined last, because other joins would have to carry them along.
-- Variables: has_pmu.
-- Depends on compute, compute_text, host_op_by_connection, launch, lost_kernel, task, unit.
-- Nothing without compute + lost_kernel, compute_text + lost_kernel, lost_kernel + task.
INSERT INTO stage_kernel
WITH timed AS MATERIALIZED (
    SELECT k.*, t.device_id, t.stream, t.task_type, t.start_ns, t.end_ns, l.launch_ns, h.host_op_id, h.host_op_ns,
           CASE WHEN getvariable('has_pmu') THEN coalesce(c.is_cube, FALSE)
                ELSE coalesce(t.task_type IN ('KERNEL_AICORE', 'KERNEL_MIX_AIC'), FALSE) END AS cube
    FROM compute AS k
    JOIN task AS t USING (capture, task_id)
    LEFT JOIN launch AS l USING (capture, connection_id)
    LEFT JOIN host_op_by_connection AS h USING (capture, connection_id)
    LEFT JOIN unit AS c ON c.capture = k.capture AND c.task_id = k.task_id
)
SELECT k.capture, k.task_id, k.device_id, k.stream, x.name_text, x.op_type_text, x.core_type_text, k.task_type, k.start_ns, k.end_ns, NULL,
       x.input_shapes_text, x.input_dtypes_text, x.input_formats_text, x.output_shapes_text, x.output_dtypes_text, x.output_formats_text,
       k.block_num, NULL, k.launch_ns, k.host_op_id, k.host_op_ns, k.cube
FROM timed AS k
JOIN compute_text AS x USING (capture, name, op_type, core_type, input_shapes, input_dtypes, input_formats, output_shapes, output_dtypes, output_formats);
-- Of kernels that only TASK has, nothing tells the name.
INSERT INTO stage_kernel BY NAME
SELECT t.capture, t.task_id AS id, t.device_id, t.stream, t.task_type, t.start_ns, t.end_ns, l.launch_ns, h.host_op_id, h.host_op_ns
FROM lost_kernel AS t LEFT JOIN launch AS l USING (capture, connection_id) LEFT JOIN host_op_by_connection AS h USING (capture, connection_id);
