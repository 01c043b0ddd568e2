-- Kernels. A graph that was recorded as a whole counts as one kernel. Exports hold neither shapes nor the operators that launched kernels.
-- Depends on gpu_kernel_cube, gpu_kernel_type, nsys_task.
-- Nothing without nsys_task.
INSERT INTO stage_kernel BY NAME
SELECT id, device_id, stream, name, gpu_kernel_type(name) AS op_type, start_ns, end_ns, launch_ns, CASE what WHEN 'kernel' THEN gpu_kernel_cube(name) END AS cube
FROM nsys_task WHERE what IN ('kernel', 'graph') AND sound AND NOT is_comm;
