-- Kernels. A GPU kernel has no shapes of its own; it gets those of the operator that launched it. `cube` means matrix units.
-- Depends on gpu_kernel_cube, gpu_kernel_type, trace_link, trace_task.
INSERT INTO stage_kernel BY NAME
SELECT t.id, t.device_id, t.stream, t.name, gpu_kernel_type(t.name) AS op_type,
       t.start_ns, t.end_ns, l.input_shapes, l.input_dtypes, l.launch_ns, l.host_op_id, l.host_op_ns,
       gpu_kernel_cube(t.name) AS cube
FROM trace_task AS t JOIN trace_link AS l USING (id)
WHERE t.cat = 'kernel' AND NOT t.is_comm;
