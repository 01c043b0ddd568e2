-- The idle segments by what the device waits for, from the launch of the next task:
--   host     before the launch, or nothing follows
--   launch   from the start of the launch until 50 us after its return, which a device needs to start a task; or a gap shorter than the call, of
--            50 us at most: calls that block, as copies of pageable memory do, last as long as what they wait for
--   queue    after that, or if the launch had returned before the gap began: an event, another stream, or the hardware
--   unknown  the launch, or all kernels of the capture, were not recorded
-- A gap may be cut in three: host, launch, queue. If only the operator that launches is known, its gap is host until the operator has ended.
-- `thread` is the launching thread, `id` the next task.
-- Depends on account_own, account_segment, account_track, capture, device_task, host_api, host_op, host_reason, placed.
-- Nothing without account_segment, account_track, capture.
CREATE OR REPLACE TEMP TABLE account_gap AS
WITH first AS (   -- of parts that begin together, the kernel
    SELECT track, from_ns, max(what) AS what, arg_max(id, what) AS id FROM account_own GROUP BY track, from_ns
), next AS (
    SELECT i.track, i.window_until_ns, i.block_ns, i.from_ns, i.until_ns, o.what, o.id
    FROM account_segment AS i ASOF LEFT JOIN first AS o ON o.track = i.track AND i.until_ns <= o.from_ns
    WHERE i.kind = 'idle'
), task AS (
    SELECT n.track, n.from_ns, d.capture, coalesce(d.launch_ns, d.host_op_ns) AS launch_ns, d.launch_ns IS NULL AS by_operator
    FROM next AS n JOIN account_track AS t ON t.track = n.track
    JOIN device_task AS d ON d.capture = t.capture AND d.what = n.what AND d.id = n.id
), call AS (
    SELECT h.capture, h.start_ns, h.by_operator, max(h.end_ns) AS end_ns, arg_max(h.thread, {'end_ns': h.end_ns, 'lowest': -h.thread}) AS thread
    FROM (
        SELECT capture, thread, start_ns, end_ns, FALSE AS by_operator FROM host_api WHERE coalesce(name NOT IN (SELECT name FROM host_reason), TRUE)
        UNION ALL SELECT capture, thread, start_ns, end_ns, TRUE FROM host_op
    ) AS h
    WHERE (h.capture, h.start_ns, h.by_operator) IN (SELECT (capture, launch_ns, by_operator) FROM task)
    GROUP BY h.capture, h.start_ns, h.by_operator
), known AS (
    SELECT n.*, k.launch_ns, k.by_operator, coalesce(greatest(c.end_ns, k.launch_ns), k.launch_ns) AS launched_ns, c.thread,
           p.executor = 'host' OR t.capture IN (SELECT capture FROM placed WHERE what = 'kernel') AS is_idle
    FROM next AS n JOIN account_track AS t ON t.track = n.track JOIN capture AS p ON p.capture = t.capture
    LEFT JOIN task AS k ON k.track = n.track AND k.from_ns = n.from_ns
    LEFT JOIN call AS c ON c.capture = k.capture AND c.start_ns = k.launch_ns AND c.by_operator = k.by_operator
), judged AS (
    SELECT *, launched_ns + 50000 AS ready_ns, CASE
        WHEN NOT is_idle THEN 'unknown'
        WHEN what IS NULL THEN 'host'
        WHEN launch_ns IS NULL THEN 'unknown'
        WHEN launched_ns <= from_ns THEN 'queue'
        WHEN by_operator THEN 'host'
        WHEN until_ns - from_ns <= least(launched_ns - launch_ns, 50000) THEN 'launch'
    END AS cause
    FROM known
)
SELECT track, window_until_ns, block_ns, from_ns, until_ns, cause, thread, what, id FROM judged WHERE cause IS NOT NULL
UNION ALL
SELECT track, window_until_ns, block_ns, from_ns, least(until_ns, launch_ns), 'host', thread, what, id FROM judged WHERE cause IS NULL AND launch_ns > from_ns
UNION ALL
SELECT track, window_until_ns, block_ns, greatest(from_ns, launch_ns), least(until_ns, ready_ns), 'launch', thread, what, id FROM judged
WHERE cause IS NULL AND launch_ns < until_ns AND ready_ns > from_ns
UNION ALL
SELECT track, window_until_ns, block_ns, greatest(from_ns, ready_ns), until_ns, 'queue', thread, what, id FROM judged WHERE cause IS NULL AND ready_ns < until_ns;
