-- Tasks on devices, each with the call that launched it: the call of the same process with the number of the launch. A replayed graph
-- launches many kernels with one call. If several calls have the same number, the first counts.
-- Variables: capture, nsys_epoch_ns.
-- Depends on gpu_kernel_comm, host_api, is_span, nsys_here, nsys_text, src_CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
-- src_CUPTI_ACTIVITY_KIND_KERNEL, src_CUPTI_ACTIVITY_KIND_MEMCPY, src_CUPTI_ACTIVITY_KIND_MEMSET.
-- Nothing without src_CUPTI_ACTIVITY_KIND_GRAPH_TRACE + src_CUPTI_ACTIVITY_KIND_KERNEL + src_CUPTI_ACTIVITY_KIND_MEMCPY
-- + src_CUPTI_ACTIVITY_KIND_MEMSET.
CREATE OR REPLACE TEMP TABLE nsys_task AS
WITH task AS (
    SELECT 'kernel' AS what, pid, device_id, stream, correlation, start_ns, end_ns, name, NULL::BIGINT AS bytes, NULL::INTEGER AS copy_kind FROM src_CUPTI_ACTIVITY_KIND_KERNEL
    UNION ALL SELECT 'graph', pid, device_id, stream, correlation, start_ns, end_ns, NULL, NULL, NULL FROM src_CUPTI_ACTIVITY_KIND_GRAPH_TRACE
    UNION ALL SELECT 'copy', pid, device_id, stream, correlation, start_ns, end_ns, NULL, bytes, copy_kind FROM src_CUPTI_ACTIVITY_KIND_MEMCPY
    UNION ALL SELECT 'memset', pid, device_id, stream, correlation, start_ns, end_ns, NULL, bytes, NULL FROM src_CUPTI_ACTIVITY_KIND_MEMSET
), launch AS (
    SELECT connection_id AS correlation, min(start_ns) AS launch_ns, arg_min(thread, start_ns) AS thread
    FROM host_api WHERE capture = getvariable('capture') AND connection_id IS NOT NULL GROUP BY connection_id
)
SELECT row_number() OVER () AS id, t.* EXCLUDE (name), CASE WHEN t.what = 'graph' THEN 'CUDA graph' ELSE n.value END AS name,
       is_span(t.start_ns, t.end_ns) AS sound, t.what = 'kernel' AND coalesce(gpu_kernel_comm(n.value), FALSE) AS is_comm, l.launch_ns, l.thread
FROM task AS t LEFT JOIN launch AS l USING (correlation) LEFT JOIN nsys_text AS n ON n.id = t.name
WHERE nsys_here(t.pid);
