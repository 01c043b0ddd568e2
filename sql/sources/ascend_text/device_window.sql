-- For parity with msprof-analyze, which takes the totals of a text profile from the Overlap Analysis of the trace. It finds copies on the
-- kernels' streams by the argument "Stream Id". If some streams wait for events, only copies on those streams count. Traces since 2025 do
-- not have this argument, so no copies are counted there.
-- Variables: capture, text_device.
-- Depends on trace_event, trace_process, trace_task.
INSERT INTO device_window
WITH computing AS (
    SELECT DISTINCT pid, logical_stream FROM trace_task WHERE task_type IN ('AI_CORE', 'MIX_AIC', 'MIX_AIV', 'AI_CPU', 'AI_VECTOR_CORE', 'FFTS_PLUS')
), waiting AS (
    SELECT DISTINCT pid, logical_stream FROM trace_task WHERE task_type = 'EVENT_WAIT_SQE' AND logical_stream IS NOT NULL
), copied AS (
    SELECT coalesce(getvariable('text_device'), t.device_id) AS device_id, sum(t.end_ns - t.start_ns) AS ns, count(*) AS n
    FROM trace_task AS t SEMI JOIN computing USING (pid, logical_stream)
    WHERE t.task_type IN ('SDMA_SQE', 'PCIE_DMA_SQE') AND t.logical_stream IS NOT NULL
      AND (NOT EXISTS (FROM waiting) OR t.logical_stream IN (SELECT logical_stream FROM waiting))
    GROUP BY ALL
), overlap AS (
    SELECT coalesce(getvariable('text_device'), p.device_id) AS device_id, min(e.start_ns) AS first_ns, max(e.end_ns) AS last_ns,
           coalesce(sum(e.end_ns - e.start_ns) FILTER (e.name = 'Computing'), 0) AS compute_ns,
           coalesce(sum(e.end_ns - e.start_ns) FILTER (e.name = 'Communication(Not Overlapped)'), 0) AS exposed_ns
    FROM trace_event AS e JOIN trace_process AS p USING (pid)
    WHERE p.name = 'Overlap Analysis' AND e.ph = 'X' AND e.start_ns IS NOT NULL GROUP BY ALL
)
SELECT getvariable('capture'), o.device_id, o.first_ns, o.last_ns, coalesce(c.ns, 0), coalesce(c.n, 0), o.compute_ns, o.exposed_ns
FROM overlap AS o LEFT JOIN copied AS c ON c.device_id IS NOT DISTINCT FROM o.device_id;
