-- Kernels, collectives and copies in one table, with the step that contains their host launch. If no node-level launch was recorded, as for
-- copies, the start of the framework operator is used. Text profiles report the step of each task themselves. In captures without a device,
-- the outermost aten operators of each thread replace kernels from here up to coverage. They end up in host_compute.
-- Depends on capture, stage_collective, stage_copy, stage_host_op, stage_kernel, step.
-- Nothing without capture + stage_collective + stage_copy + stage_kernel, stage_collective + stage_copy + stage_host_op
-- + stage_kernel.
-- Runs after too_long.
CREATE OR REPLACE TEMP TABLE device_task AS
WITH task AS (
    SELECT capture, 'kernel' AS what, id, device_id, start_ns, end_ns, reported_step, launch_ns, host_op_ns FROM stage_kernel
    UNION ALL SELECT capture, 'collective', id, device_id, start_ns, end_ns, reported_step, launch_ns, host_op_ns FROM stage_collective
    UNION ALL SELECT capture, 'copy', id, device_id, start_ns, end_ns, reported_step, launch_ns, host_op_ns FROM stage_copy
    UNION ALL
    SELECT capture, 'kernel', id, NULL, start_ns, end_ns, NULL, start_ns, NULL FROM (
        SELECT * FROM stage_host_op
        WHERE starts_with(name, 'aten::') AND capture IN (SELECT capture FROM capture WHERE executor = 'host')
        QUALIFY coalesce(end_ns > max(end_ns) OVER (PARTITION BY capture, thread ORDER BY start_ns, end_ns DESC, id
                                                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), TRUE)
    )
), marked AS (
    SELECT capture, step, start_ns AS step_start_ns, end_ns AS step_end_ns FROM step WHERE start_ns IS NOT NULL
)
SELECT task.*, CASE WHEN coalesce(task.launch_ns, task.host_op_ns) <= marked.step_end_ns THEN marked.step END AS launch_step
FROM task ASOF LEFT JOIN marked
  ON marked.capture = task.capture AND coalesce(task.launch_ns, task.host_op_ns) >= marked.step_start_ns;
