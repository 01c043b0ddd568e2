-- Makes lost_kernel and lost_collective: what the trace has, or of collectives communication.json, although kernel_details.csv lists others but
-- has no row with a usable time for it. Kernels only if they are a considerable part (1 of 200, or of the time). Start times may differ by a
-- microsecond, because the CSV cuts off digits. Only types that nothing but kernels have count. One launch may be several tasks, of which one has
-- a row. Also makes lost_count: how many kernels op_statistic.csv counts beyond the rows, and how many rows have no usable time.
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
), unlisted AS (
    SELECT * EXCLUDE (is_listed, latest_ns) FROM traced
    WHERE is_listed IS NOT TRUE AND (connection_id IS NULL OR connection_id NOT IN (FROM described)) AND EXISTS (FROM text_kernel WHERE NOT is_comm)
)
SELECT unlisted.* FROM unlisted
WHERE (SELECT count(*) FROM unlisted) * 200 > (SELECT count(*) FROM listed)
   OR (SELECT sum(end_ns - start_ns) FROM unlisted) * 200 > (SELECT sum(end_ns - start_ns) FROM listed);
CREATE OR REPLACE TEMP TABLE lost_collective AS
WITH listed AS (
    SELECT name, start_ns FROM text_kernel WHERE is_comm AND end_ns IS NOT NULL
), told AS (
    SELECT device_id, name, start_ns, end_ns, NULL::BIGINT AS step FROM trace_comm WHERE whole
    UNION ALL SELECT NULL, name, start_ns, end_ns, step FROM text_communication WHERE end_ns IS NOT NULL AND NOT EXISTS (FROM trace_comm WHERE whole)
)
SELECT t.* EXCLUDE (latest_ns)
FROM (SELECT *, start_ns + 1000 AS latest_ns FROM told) AS t ASOF LEFT JOIN listed AS l ON l.name = t.name AND t.latest_ns >= l.start_ns
WHERE EXISTS (FROM text_kernel WHERE is_comm) AND (l.start_ns IS NULL OR l.start_ns < t.start_ns - 1000);
CREATE OR REPLACE TEMP TABLE lost_count AS
SELECT count(*) AS rows, count(*) FILTER (end_ns IS NULL) AS untimed, coalesce((SELECT sum(calls) FROM reported_kernel_type WHERE capture = getvariable('capture')), 0) AS reported,
       (SELECT count(*) FROM lost_kernel) AS lost
FROM text_kernel WHERE NOT is_comm;
