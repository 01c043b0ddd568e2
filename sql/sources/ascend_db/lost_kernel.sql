-- Makes lost_kernel: kernels of TASK that COMPUTE_TASK_INFO lacks, if they are a considerable part (1 of 200, or of the time). One launch may be
-- several tasks, of which one is described, and tasks that overlap on a stream are one kernel. What was launched before the profile began was
-- never described.
-- Depends on bare_task, compute, launch, src_COMMUNICATION_OP, src_COMMUNICATION_TASK_INFO, task.
-- Nothing without bare_task.
CREATE OR REPLACE TEMP TABLE lost_kernel AS
WITH described AS (
    SELECT t.capture, t.connection_id FROM (FROM task SEMI JOIN bare_task USING (capture, connection_id)) AS t JOIN compute AS k USING (capture, task_id)
    GROUP BY ALL HAVING count(*) = 1
), undescribed AS MATERIALIZED (
    SELECT b.* FROM bare_task AS b
    ANTI JOIN described AS d ON d.capture = b.capture AND d.connection_id = b.connection_id
    ANTI JOIN (SELECT capture, connection_id FROM src_COMMUNICATION_OP WHERE connection_id IS NOT NULL) AS o
        ON o.capture = b.capture AND o.connection_id = b.connection_id
    ANTI JOIN src_COMMUNICATION_TASK_INFO AS c ON c.capture = b.capture AND c.task_id = b.task_id
), known AS MATERIALIZED (   -- only where a kernel may be lost: sorting them all takes long
    SELECT t.capture, t.device_id, t.stream, t.start_ns, t.end_ns
    FROM task AS t JOIN (FROM compute WHERE capture IN (SELECT capture FROM undescribed)) AS k USING (capture, task_id)
), beside AS (
    SELECT * FROM known SEMI JOIN (SELECT DISTINCT capture, device_id, stream FROM undescribed) USING (capture, device_id, stream)
), apart AS (   -- from the kernels that are described
    SELECT u.* FROM undescribed AS u ASOF LEFT JOIN beside AS k
        ON k.capture = u.capture AND k.device_id = u.device_id AND k.stream = u.stream AND k.start_ns < u.end_ns
    WHERE k.end_ns IS NULL OR k.end_ns <= u.start_ns
), single AS (   -- the first of those that overlap each other
    SELECT *, start_ns < max(end_ns) OVER (PARTITION BY capture, device_id, stream ORDER BY start_ns, end_ns
                                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS is_covered FROM apart
), total AS (
    SELECT capture, min(start_ns) AS first_ns, count(*) AS kernels, sum(end_ns - start_ns) AS ns FROM known GROUP BY capture
)
SELECT s.* EXCLUDE (is_covered), coalesce(k.kernels, 0) AS described
FROM single AS s LEFT JOIN total AS k USING (capture) LEFT JOIN launch AS l USING (capture, connection_id)
WHERE s.is_covered IS NOT TRUE AND (l.launch_ns IS NOT NULL OR k.first_ns IS NULL OR s.start_ns >= k.first_ns)
QUALIFY count(*) OVER (PARTITION BY s.capture) * 200 > described OR sum(s.end_ns - s.start_ns) OVER (PARTITION BY s.capture) * 200 > k.ns;
