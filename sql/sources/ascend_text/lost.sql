-- Makes lost_kernel and lost_collective: what the trace has (of collectives also communication.json), although kernel_details.csv, which lists others, has no row with a usable time for it;
-- only if that is a considerable part (1 of 200, or of the time). Start times may differ by a microsecond, because the CSV cuts off digits. Only
-- types that nothing but kernels have count. One launch may be several tasks, of which one has a row. Also makes lost_count: how many kernels
-- op_statistic.csv counts beyond the rows, and how many rows have no usable time.
-- Variables: capture.
-- Depends on reported_kernel_type, text_communication, text_kernel, trace_comm, trace_task.
CREATE OR REPLACE TEMP TABLE lost_kernel AS
WITH listed AS (
    SELECT start_ns, end_ns FROM text_kernel WHERE NOT is_comm AND end_ns IS NOT NULL
), traced AS (
    SELECT t.*, l.start_ns IS NOT NULL AND l.start_ns >= t.start_ns - 1000 AS is_listed
    FROM (SELECT *, start_ns + 1000 AS latest_ns FROM trace_task) AS t ASOF LEFT JOIN listed AS l ON t.latest_ns >= l.start_ns
    ANTI JOIN (SELECT stream, start_ns FROM trace_comm WHERE NOT whole) AS part ON part.stream = t.stream AND part.start_ns = t.start_ns
    WHERE t.task_type IN ('AI_CORE', 'AI_VECTOR_CORE', 'MIX_AIC', 'MIX_AIV', 'DSA_SQE', 'KERNEL_AICORE', 'KERNEL_AIVEC', 'KERNEL_MIX_AIC', 'KERNEL_MIX_AIV')
), described AS (
    SELECT connection_id FROM traced WHERE is_listed AND connection_id IS NOT NULL GROUP BY ALL HAVING count(*) = 1
)
SELECT * EXCLUDE (is_listed, latest_ns) FROM traced
WHERE is_listed IS NOT TRUE AND (connection_id IS NULL OR connection_id NOT IN (FROM described)) AND EXISTS (FROM text_kernel WHERE NOT is_comm)
QUALIFY count(*) OVER () * 200 > (SELECT count(*) FROM listed) OR sum(end_ns - start_ns) OVER () * 200 > (SELECT sum(end_ns - start_ns) FROM listed);
CREATE OR REPLACE TEMP TABLE lost_collective AS
SELECT t.device_id, t.name, t.start_ns, t.end_ns, NULL::BIGINT AS step
FROM trace_comm AS t
ANTI JOIN (FROM text_kernel WHERE is_comm AND end_ns IS NOT NULL) AS k ON k.name = t.name AND abs(k.start_ns - t.start_ns) <= 1000
WHERE t.whole AND EXISTS (FROM text_kernel WHERE is_comm)
UNION ALL
SELECT NULL, c.name, c.start_ns, c.end_ns, c.step
FROM text_communication AS c
ANTI JOIN (FROM text_kernel WHERE is_comm AND end_ns IS NOT NULL) AS k ON k.name = c.name AND abs(k.start_ns - c.start_ns) <= 1000
WHERE c.end_ns IS NOT NULL AND EXISTS (FROM text_kernel WHERE is_comm) AND NOT EXISTS (FROM trace_comm WHERE whole);
CREATE OR REPLACE TEMP TABLE lost_count AS
SELECT count(*) AS rows, count(*) FILTER (end_ns IS NULL) AS untimed, coalesce((SELECT sum(calls) FROM reported_kernel_type WHERE capture = getvariable('capture')), 0) AS reported,
       (SELECT count(*) FROM lost_kernel) AS lost
FROM text_kernel WHERE NOT is_comm;
