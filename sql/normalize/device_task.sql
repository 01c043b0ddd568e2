-- Kernels, collectives and copies of this capture side by side, with the step that their host launch lies in; where no launch was recorded
-- (copies are no node-level launches), the framework operator that caused it tells.
-- Text profiles carry the step themselves. In a capture of the host alone the outermost aten operators of each thread stand in for kernels, from
-- here to the coverage, and end up in host_compute.
-- Depends on capture, stage_collective, stage_copy, stage_host_op, stage_kernel, step.
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
