-- For parity with msprof-analyze: the span of tasks that are neither kernels nor profiler switches, and copies on the kernels' streams. If
-- some streams wait for events, only copies on those streams count.
-- Variables: from_ns, holes, until_ns.
-- Depends on in_window, stage_kernel, task.
-- Nothing without task.
INSERT INTO device_window
WITH waiting AS (
    SELECT DISTINCT capture, device_id, stream FROM task WHERE task_type = 'EVENT_WAIT_SQE'
), computing AS (
    SELECT DISTINCT capture, device_id, stream FROM stage_kernel
), streams AS (
    SELECT c.* FROM computing AS c LEFT JOIN waiting AS w ON w.capture = c.capture AND w.device_id = c.device_id AND w.stream = c.stream
    WHERE w.stream IS NOT NULL OR c.capture NOT IN (SELECT capture FROM waiting)
)
SELECT t.capture, t.device_id,
       min(t.start_ns) FILTER (other), max(t.end_ns) FILTER (other),
       coalesce(sum(t.end_ns - t.start_ns) FILTER (sdma), 0), count(*) FILTER (sdma), NULL, NULL
FROM (
    SELECT task.*,
           coalesce(task_type NOT IN ('KERNEL_AICORE', 'KERNEL_AIVEC', 'FFTS_PLUS', 'KERNEL_MIX_AIC', 'KERNEL_MIX_AIV',
                                      'PROFILING_ENABLE', 'PROFILING_DISABLE'), FALSE) AS other,
           coalesce(task_type IN ('SDMA_SQE', 'PCIE_DMA_SQE') AND streams.stream IS NOT NULL, FALSE) AS sdma
    FROM task LEFT JOIN streams ON streams.capture = task.capture AND streams.device_id = task.device_id AND streams.stream = task.stream
    WHERE in_window(start_ns)
) AS t
GROUP BY t.capture, t.device_id;
