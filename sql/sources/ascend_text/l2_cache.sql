-- Makes text_l2: hit and victim rates of the second-level cache, as ratios, of the kernel with the same task, stream and name. Left out if several kernels match
-- (task numbers wrap around). If events are kept, they are counters of the kernel.
-- Variables: capture, keep_events, text_l2_cache.
-- Depends on text_kernel, text_number, text_table.
-- Run by name: for its file.
CREATE OR REPLACE TEMP TABLE text_l2 AS
SELECT k.id, r.hit_rate, r.victim_rate
FROM (
    SELECT TRY_CAST("Stream Id" AS BIGINT) AS stream, TRY_CAST("Task Id" AS BIGINT) AS task_id, "Op Name" AS op_name,
           text_number("Hit Rate") AS hit_rate, text_number("Victim Rate") AS victim_rate
    FROM (
        SELECT NULL::VARCHAR AS "Stream Id", NULL::VARCHAR AS "Task Id", NULL::VARCHAR AS "Hit Rate", NULL::VARCHAR AS "Victim Rate", NULL::VARCHAR AS "Op Name" WHERE FALSE
        UNION ALL BY NAME
        FROM text_table(getvariable('text_l2_cache'))
    )
) AS r
JOIN (
    SELECT stream, task_id, name AS op_name, min(id) AS id FROM text_kernel WHERE NOT is_comm AND task_id IS NOT NULL GROUP BY ALL HAVING count(*) = 1
) AS k USING (stream, task_id, op_name)
WHERE r.hit_rate IS NOT NULL OR r.victim_rate IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY k.id ORDER BY r.hit_rate, r.victim_rate) = 1;
INSERT INTO pmu
SELECT getvariable('capture'), id, name, value
FROM (UNPIVOT (SELECT id, hit_rate AS l2_hit_rate, victim_rate AS l2_victim_rate FROM text_l2) ON l2_hit_rate, l2_victim_rate INTO NAME name VALUE value)
WHERE getvariable('keep_events');
