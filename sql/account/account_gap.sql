-- The idle segments by what the device waits for, from the launch of the next task:
--   host     before the launch, or nothing follows
--   launch   from the start of the launch until 50 us after its return, which a device needs to start a task; or a gap shorter than the call, of
--            50 us at most: calls that block, as copies of pageable memory do, last as long as what they wait for
--   queue    after that, or if the launch had returned before the gap began: an event, another stream, or the hardware
--   unknown  the launch, or all kernels of the capture, were not recorded
-- A gap may be cut in three: host, launch, queue. If only the operator that launches is known, its gap is host until the operator has ended.
-- `thread` is the launching thread, `part` the own part of the next task.
-- Depends on account_own, account_segment, account_track, capture, device_task, host_api, host_op, host_reason, placed.
-- Nothing without account_segment, account_track, capture.
CREATE OR REPLACE TEMP TABLE account_gap AS
WITH next AS MATERIALIZED (
    SELECT t.capture, s.frame, s.block_ns, s.from_ns, s.until_ns, o.part, coalesce(d.launch_ns, d.host_op_ns) AS launch_ns, d.launch_ns IS NULL AS by_operator
    FROM account_segment AS s JOIN account_track AS t ON t.track = s.track
    LEFT JOIN account_own AS o ON o.part = s.part AND o.track = s.track
    LEFT JOIN device_task AS d ON d.capture = t.capture AND d.what = o.what AND d.id = o.id
    WHERE s.kind = 'idle'
), call AS (
    SELECT capture, start_ns, by_operator, max(end_ns) AS end_ns, arg_max(thread, {'end_ns': end_ns, 'lowest': -thread}) AS thread
    FROM (
        SELECT capture, thread, start_ns, end_ns, FALSE AS by_operator FROM host_api WHERE coalesce(name NOT IN (SELECT name FROM host_reason), TRUE)
        UNION ALL SELECT capture, thread, start_ns, end_ns, TRUE FROM host_op
    ) SEMI JOIN (SELECT capture, launch_ns AS start_ns, by_operator FROM next) USING (capture, start_ns, by_operator)
    GROUP BY capture, start_ns, by_operator
), known AS (
    SELECT n.*, coalesce(greatest(c.end_ns, n.launch_ns), n.launch_ns) AS launched_ns, c.thread,
           p.executor = 'host' OR n.capture IN (SELECT capture FROM placed WHERE what = 'kernel') AS is_idle
    FROM next AS n JOIN capture AS p ON p.capture = n.capture
    LEFT JOIN call AS c ON c.capture = n.capture AND c.start_ns = n.launch_ns AND c.by_operator = n.by_operator
), judged AS (
    SELECT *, launched_ns + 50000 AS ready_ns, CASE
        WHEN NOT is_idle THEN 'unknown'
        WHEN part IS NULL THEN 'host'
        WHEN launch_ns IS NULL THEN 'unknown'
        WHEN launched_ns <= from_ns THEN 'queue'
        WHEN by_operator THEN 'host'
        WHEN until_ns - from_ns <= least(launched_ns - launch_ns, 50000) THEN 'launch'
    END AS cause
    FROM known
)
SELECT frame, block_ns, from_ns, until_ns, cause, thread, part FROM judged WHERE cause IS NOT NULL
UNION ALL
SELECT frame, block_ns, from_ns, least(until_ns, launch_ns), 'host', thread, part FROM judged WHERE cause IS NULL AND launch_ns > from_ns
UNION ALL
SELECT frame, block_ns, greatest(from_ns, launch_ns), least(until_ns, ready_ns), 'launch', thread, part FROM judged
WHERE cause IS NULL AND launch_ns < until_ns AND ready_ns > from_ns
UNION ALL
SELECT frame, block_ns, greatest(from_ns, ready_ns), until_ns, 'queue', thread, part FROM judged WHERE cause IS NULL AND ready_ns < until_ns;
