-- The idle segments by what the device waits for, from the launch of the next task: queue (the launch had returned before the gap began),
-- launch (from the launch on, or a gap shorter than the call), host (before the launch, or nothing follows), unknown (the launch or the
-- kernels were not recorded). A gap may be cut in two: host, then launch. `thread` is the launching thread, `id` the next task.
-- Depends on account_own, account_segment, account_track, capture, device_task, host_api, host_op, placed.
CREATE OR REPLACE TEMP TABLE account_gap AS
WITH first AS (   -- of parts that begin together, the kernel
    SELECT track, from_ns, max(what) AS what, arg_max(id, what) AS id FROM account_own GROUP BY track, from_ns
), next AS (
    SELECT i.track, i.window_until_ns, i.from_ns, i.until_ns, o.what, o.id
    FROM account_segment AS i ASOF LEFT JOIN first AS o ON o.track = i.track AND i.until_ns <= o.from_ns
    WHERE i.kind = 'idle'
), task AS (
    SELECT n.track, n.from_ns, d.capture, coalesce(d.launch_ns, d.host_op_ns) AS launch_ns
    FROM next AS n JOIN account_track AS t ON t.track = n.track
    JOIN device_task AS d ON d.capture = t.capture AND d.what = n.what AND d.id = n.id
), call AS (
    SELECT h.capture, h.start_ns, max(h.end_ns) AS end_ns, arg_max(h.thread, {'end_ns': h.end_ns, 'lowest': -h.thread}) AS thread
    FROM (SELECT capture, thread, start_ns, end_ns FROM host_api UNION ALL SELECT capture, thread, start_ns, start_ns FROM host_op) AS h
    WHERE (h.capture, h.start_ns) IN (SELECT (capture, launch_ns) FROM task)
    GROUP BY h.capture, h.start_ns
), known AS (
    SELECT n.*, k.launch_ns, coalesce(greatest(c.end_ns, k.launch_ns), k.launch_ns) AS launched_ns, c.thread,
           p.executor = 'host' OR t.capture IN (SELECT capture FROM placed WHERE what = 'kernel') AS is_idle
    FROM next AS n JOIN account_track AS t ON t.track = n.track JOIN capture AS p ON p.capture = t.capture
    LEFT JOIN task AS k ON k.track = n.track AND k.from_ns = n.from_ns
    LEFT JOIN call AS c ON c.capture = k.capture AND c.start_ns = k.launch_ns
), judged AS (
    SELECT *, CASE
        WHEN NOT is_idle THEN 'unknown'
        WHEN what IS NULL THEN 'host'
        WHEN launch_ns IS NULL THEN 'unknown'
        WHEN launched_ns <= from_ns THEN 'queue'
        WHEN until_ns - from_ns <= launched_ns - launch_ns THEN 'launch'
    END AS cause
    FROM known
)
SELECT track, window_until_ns, from_ns, until_ns, cause, thread, what, id FROM judged WHERE cause IS NOT NULL
UNION ALL
SELECT track, window_until_ns, from_ns, least(until_ns, launch_ns), 'host', thread, what, id FROM judged WHERE cause IS NULL AND launch_ns > from_ns
UNION ALL
SELECT track, window_until_ns, greatest(from_ns, launch_ns), until_ns, 'launch', thread, what, id FROM judged WHERE cause IS NULL AND launch_ns < until_ns;
