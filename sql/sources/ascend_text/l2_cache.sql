-- Hit and victim rates of the second-level cache, as counters of the kernel with the same task, stream and name. Left out if several
-- kernels match (task numbers wrap around). Only if events are kept.
-- Variables: capture, keep_events, text_l2_cache.
-- Depends on text_kernel, text_number, text_table.
-- Run by name: for its file.
INSERT INTO pmu
SELECT getvariable('capture'), k.id, r.name, r.value
FROM (
    SELECT TRY_CAST("Stream Id" AS BIGINT) AS stream, TRY_CAST("Task Id" AS BIGINT) AS task_id, "Op Name" AS op_name,
           unnest(['l2_hit_rate', 'l2_victim_rate']) AS name, unnest([text_number("Hit Rate"), text_number("Victim Rate")]) AS value
    FROM (
        SELECT NULL::VARCHAR AS "Stream Id", NULL::VARCHAR AS "Task Id", NULL::VARCHAR AS "Hit Rate", NULL::VARCHAR AS "Victim Rate", NULL::VARCHAR AS "Op Name" WHERE FALSE
        UNION ALL BY NAME
        FROM text_table(getvariable('text_l2_cache'))
    )
) AS r
JOIN (
    SELECT stream, task_id, name AS op_name, min(id) AS id FROM text_kernel WHERE NOT is_comm AND task_id IS NOT NULL GROUP BY ALL HAVING count(*) = 1
) AS k USING (stream, task_id, op_name)
WHERE getvariable('keep_events') AND r.value IS NOT NULL;
