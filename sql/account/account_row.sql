-- The account of each step without communication, which is in r_exposed: kernels, copies, gaps and what the host did in them. `label` is a row of
-- account_label. `block_ns` as in account_segment; in captures without a device, waiting for a collective takes the place of segments in which the
-- device only communicates.
-- Depends on account_activity, account_gap, account_host, account_own, account_segment, account_source, account_track,
-- capture, copy, phase, place.
-- Nothing without account_source, account_track.
CREATE OR REPLACE TEMP TABLE account_row AS
WITH task AS NOT MATERIALIZED (
    SELECT t.capture, s.track, s.window_until_ns, s.block_ns, s.kind, o.id, o.phase, o.key, s.until_ns - s.from_ns AS ns
    FROM account_segment AS s JOIN account_own AS o ON o.track = s.track AND o.until_ns = s.part_until_ns
     AND o.what = CASE s.kind WHEN 'compute' THEN 'kernel' ELSE 'copy' END
    JOIN account_track AS t ON t.track = s.track
    WHERE s.kind IN ('compute', 'copy')
), copied AS (
    SELECT t.track, t.window_until_ns, t.block_ns, t.capture, t.phase, s.label, t.ns
    FROM task AS t JOIN copy AS c ON c.capture = t.capture AND c.id = t.id JOIN account_source AS s ON s.source = 'copy' AND s.subject IS NOT DISTINCT FROM c.kind
    WHERE t.kind = 'copy'
), host_track AS (
    SELECT t.track FROM account_track AS t JOIN capture AS c ON c.capture = t.capture WHERE c.executor = 'host'
), waited AS (
    FROM account_host WHERE track NOT IN (FROM host_track)
    UNION ALL
    SELECT * EXCLUDE (called_ns, is_call) REPLACE (greatest(block_ns, called_ns) AS block_ns)
    FROM (
        SELECT *, max(CASE WHEN is_call THEN until_ns END) OVER (PARTITION BY track ORDER BY from_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS called_ns
        FROM (
            SELECT *, activity IN (SELECT activity FROM account_activity WHERE kind = 'collective call') AS is_call
            FROM account_host WHERE track IN (FROM host_track)
        )
    ) WHERE NOT is_call
), host AS (
    SELECT h.*, t.capture, c.executor FROM waited AS h JOIN account_track AS t ON t.track = h.track JOIN capture AS c ON c.capture = t.capture
), piece AS (
    SELECT track, window_until_ns, block_ns, capture, phase, 'compute' AS source, key AS number, ns FROM task WHERE kind = 'compute'
    UNION ALL   -- in the phase of the next task
    SELECT g.track, g.window_until_ns, g.block_ns, t.capture, o.phase, g.cause, CASE WHEN g.cause <> 'unknown' THEN coalesce(o.key, -1) ELSE -1 END, g.until_ns - g.from_ns
    FROM account_gap AS g JOIN account_track AS t ON t.track = g.track
    LEFT JOIN account_own AS o ON o.track = g.track AND o.what = g.what AND o.id = g.id
    WHERE g.cause <> 'host'
    UNION ALL
    SELECT track, window_until_ns, block_ns, capture, NULL, executor, activity, until_ns - from_ns FROM host WHERE capture NOT IN (SELECT capture FROM phase)
    UNION ALL
    SELECT h.track, h.window_until_ns, h.block_ns, h.capture, w.phase, h.executor, h.activity, h.until_ns - h.from_ns
    FROM (FROM host WHERE capture IN (SELECT capture FROM phase)) AS h ASOF LEFT JOIN place AS w ON w.capture = h.capture AND h.from_ns >= w.from_ns
)
SELECT a.track, a.window_until_ns, a.block_ns, p.name AS phase, a.label, sum(a.ns) AS ns, count(*) AS pieces
FROM (
    SELECT i.track, i.window_until_ns, i.block_ns, i.capture, i.phase, s.label, i.ns FROM piece AS i JOIN account_source AS s ON s.source = i.source AND s.number = i.number
    UNION ALL FROM copied
) AS a LEFT JOIN phase AS p ON p.capture = a.capture AND p.id = a.phase
GROUP BY ALL;
