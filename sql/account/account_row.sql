-- The account of each step without communication, which is in r_exposed: kernels, copies, gaps and what the host did in them. `label` is a row of
-- account_label. `block_ns` as in account_segment; in captures without a device, waiting for a collective takes the place of segments in which the
-- device only communicates.
-- Depends on account_activity, account_gap, account_host, account_own, account_segment, account_source, account_track,
-- account_window, capture, copy, phase, place.
-- Nothing without account_source, account_track, account_window, capture.
CREATE OR REPLACE TEMP TABLE account_row AS
WITH framed AS (
    SELECT w.frame, t.track, t.capture, c.executor
    FROM account_window AS w JOIN account_track AS t ON t.track = w.track JOIN capture AS c ON c.capture = t.capture
), waited AS (
    SELECT f.track, f.capture, f.executor, h.* FROM account_host AS h JOIN framed AS f ON f.frame = h.frame
), called AS (
    SELECT * EXCLUDE (called_ns, is_call) REPLACE (greatest(block_ns, called_ns) AS block_ns)
    FROM (
        SELECT *, max(CASE WHEN is_call THEN until_ns END) OVER (PARTITION BY track ORDER BY from_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS called_ns
        FROM (SELECT *, activity IN (SELECT activity FROM account_activity WHERE kind = 'collective call') AS is_call FROM waited WHERE executor = 'host')
    ) WHERE NOT is_call
), host AS (
    FROM waited WHERE executor <> 'host' UNION ALL FROM called
), task AS (   -- gaps are in the phase of the next task
    SELECT f.capture, s.frame, s.block_ns, o.phase, s.cause, o.id, coalesce(o.key, -1) AS key, s.ns
    FROM (
        SELECT frame, block_ns, kind AS cause, part, until_ns - from_ns AS ns FROM account_segment WHERE kind IN ('compute', 'copy')
        UNION ALL
        SELECT frame, block_ns, cause, part, until_ns - from_ns FROM account_gap WHERE cause <> 'host'
    ) AS s JOIN framed AS f ON f.frame = s.frame LEFT JOIN account_own AS o ON o.part = s.part
), piece AS (
    SELECT frame, block_ns, capture, phase, cause AS source, CASE WHEN cause <> 'unknown' THEN key ELSE -1 END AS number, ns FROM task WHERE cause <> 'copy'
    UNION ALL
    SELECT frame, block_ns, capture, NULL, executor, activity, until_ns - from_ns FROM host WHERE capture NOT IN (SELECT capture FROM phase)
    UNION ALL
    SELECT h.frame, h.block_ns, h.capture, w.phase, h.executor, h.activity, h.until_ns - h.from_ns
    FROM (FROM host WHERE capture IN (SELECT capture FROM phase)) AS h ASOF LEFT JOIN place AS w ON w.capture = h.capture AND h.from_ns >= w.from_ns
)
SELECT a.frame, a.block_ns, p.name AS phase, a.label, sum(a.ns) AS ns, count(*) AS pieces
FROM (
    SELECT i.frame, i.block_ns, i.capture, i.phase, s.label, i.ns FROM piece AS i JOIN account_source AS s ON s.source = i.source AND s.number = i.number
    UNION ALL
    SELECT t.frame, t.block_ns, t.capture, t.phase, s.label, t.ns
    FROM task AS t JOIN copy AS c ON c.capture = t.capture AND c.id = t.id JOIN account_source AS s ON s.source = 'copy' AND s.subject IS NOT DISTINCT FROM c.kind
    WHERE t.cause = 'copy'
) AS a LEFT JOIN phase AS p ON p.capture = a.capture AND p.id = a.phase
GROUP BY ALL;
