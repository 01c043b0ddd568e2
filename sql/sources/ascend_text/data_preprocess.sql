-- Parts of AI CPU kernels (computing, copying, dispatching) in nanoseconds, as counters of the kernel with the same task, stream and name.
-- Left out if several kernels match. Only if events are kept.
-- Variables: capture, keep_events, text_data_preprocess.
-- Depends on text_kernel, text_number, text_table.
-- Run by name: for its file.
INSERT INTO pmu
SELECT getvariable('capture'), k.id, r.name, r.value
FROM (
    SELECT TRY_CAST("Stream ID" AS BIGINT) AS stream, TRY_CAST("Task ID" AS BIGINT) AS task_id, "Node" AS op_name,
           unnest(['aicpu_compute_time', 'aicpu_memcpy_time', 'aicpu_dispatch_time']) AS name,
           unnest([1e6 * text_number("Compute_time(ms)"), coalesce(1e6 * text_number("Memcpy_time(ms)"), 1000 * text_number("Memcpy_time(us)")),
                   1e6 * text_number("Dispatch_time(ms)")]) AS value
    FROM (
        SELECT NULL::VARCHAR AS "Stream ID", NULL::VARCHAR AS "Task ID", NULL::VARCHAR AS "Node", NULL::VARCHAR AS "Compute_time(ms)",
               NULL::VARCHAR AS "Memcpy_time(ms)", NULL::VARCHAR AS "Memcpy_time(us)", NULL::VARCHAR AS "Dispatch_time(ms)" WHERE FALSE
        UNION ALL BY NAME
        FROM text_table(getvariable('text_data_preprocess'))
    )
) AS r
JOIN (
    SELECT stream, task_id, name AS op_name, min(id) AS id FROM text_kernel WHERE NOT is_comm AND task_id IS NOT NULL GROUP BY ALL HAVING count(*) = 1
) AS k USING (stream, task_id, op_name)
WHERE getvariable('keep_events') AND r.value IS NOT NULL;
