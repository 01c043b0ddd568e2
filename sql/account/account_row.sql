-- The account of each step without communication, which is in r_exposed: kernels, copies, gaps and what the host did in them. In captures without
-- a device, the host is the device: an operator computes. `block_ns` as in account_segment; in captures without a device, waiting for a collective takes the
-- place of segments in which the device only communicates.
-- Depends on account_gap, account_host, account_own, account_segment, account_track, capture, copy, kernel, kernel_key,
-- kernel_text, phase, place, placed.
CREATE OR REPLACE TEMP TABLE account_row AS
WITH host_track AS (
    SELECT track FROM account_track WHERE capture IN (SELECT capture FROM capture WHERE executor = 'host')
), task AS NOT MATERIALIZED (
    SELECT t.capture, s.track, s.window_until_ns, s.block_ns, s.kind, o.id, s.until_ns - s.from_ns AS ns
    FROM account_segment AS s JOIN account_own AS o ON o.track = s.track AND o.until_ns = s.part_until_ns
     AND o.what = CASE s.kind WHEN 'compute' THEN 'kernel' ELSE 'copy' END
    JOIN account_track AS t ON t.track = s.track
    WHERE s.kind IN ('compute', 'copy')
), idle AS (   -- in the phase of the next task
    SELECT g.track, g.window_until_ns, g.block_ns, p.phase, t.capture, g.cause AS kind, b.name AS subject, b.op_type, g.until_ns - g.from_ns AS ns
    FROM (FROM account_gap WHERE cause IN ('launch', 'queue') AND what = 'kernel') AS g JOIN account_track AS t ON t.track = g.track
    JOIN kernel_key AS k ON k.capture = t.capture AND k.id = g.id JOIN kernel_text AS b ON b.key = k.key
    JOIN placed AS p ON p.capture = t.capture AND p.what = 'kernel' AND p.id = g.id
    UNION ALL
    SELECT g.track, g.window_until_ns, g.block_ns, p.phase, t.capture, g.cause, NULL, NULL, g.until_ns - g.from_ns
    FROM (FROM account_gap WHERE cause = 'unknown' OR (cause IN ('launch', 'queue') AND what <> 'kernel')) AS g JOIN account_track AS t ON t.track = g.track
    LEFT JOIN placed AS p ON p.capture = t.capture AND p.what = g.what AND p.id = g.id
), host AS (
    SELECT t.capture, h.track, h.window_until_ns, h.block_ns, h.from_ns, h.until_ns - h.from_ns AS ns, CASE
               WHEN c.executor = 'device' THEN h.kind
               WHEN h.kind = 'operator' OR (h.kind = 'sync' AND starts_with(h.subject, 'aten::')) THEN 'compute'
               ELSE h.kind END AS kind, h.subject
    FROM (
        FROM account_host WHERE track NOT IN (FROM host_track)
        UNION ALL
        SELECT * REPLACE (greatest(block_ns, max(CASE WHEN kind = 'collective call' THEN until_ns END) OVER (
                              PARTITION BY track ORDER BY from_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS block_ns)
        FROM account_host WHERE track IN (FROM host_track)
    ) AS h JOIN account_track AS t ON t.track = h.track JOIN capture AS c ON c.capture = t.capture
    WHERE c.executor = 'device' OR h.kind <> 'collective call'
), kernels AS (
    SELECT t.track, t.window_until_ns, t.block_ns, p.name AS phase, y.key, sum(t.ns) AS ns, count(*) AS pieces
    FROM task AS t JOIN kernel AS k ON k.capture = t.capture AND k.id = t.id JOIN kernel_key AS y ON y.capture = t.capture AND y.id = t.id
    LEFT JOIN phase AS p ON p.capture = k.capture AND p.id = k.phase
    WHERE t.kind = 'compute' GROUP BY ALL
)
SELECT k.track, k.window_until_ns, k.block_ns, k.phase, 'compute' AS kind, b.name AS subject, b.op_type, b.core_type, b.input_shapes, b.input_dtypes, b.host_op,
       k.ns, k.pieces
FROM kernels AS k JOIN kernel_text AS b ON b.key = k.key
UNION ALL
SELECT t.track, t.window_until_ns, t.block_ns, p.name, t.kind, c.kind, NULL, NULL, NULL, NULL, NULL, sum(t.ns), count(*)
FROM task AS t JOIN copy AS c ON c.capture = t.capture AND c.id = t.id LEFT JOIN phase AS p ON p.capture = c.capture AND p.id = c.phase
WHERE t.kind = 'copy' GROUP BY ALL
UNION ALL
SELECT g.track, g.window_until_ns, g.block_ns, p.name, g.kind, g.subject, g.op_type, NULL, NULL, NULL, NULL, sum(g.ns), count(*)
FROM idle AS g LEFT JOIN phase AS p ON p.capture = g.capture AND p.id = g.phase GROUP BY ALL
UNION ALL
SELECT h.track, h.window_until_ns, h.block_ns, NULL, h.kind, h.subject, NULL, NULL, NULL, NULL, NULL, sum(h.ns), count(*)
FROM host AS h WHERE h.capture NOT IN (SELECT capture FROM phase) GROUP BY ALL
UNION ALL
SELECT h.track, h.window_until_ns, h.block_ns, p.name, h.kind, h.subject, NULL, NULL, NULL, NULL, NULL, sum(h.ns), count(*)
FROM (FROM host WHERE capture IN (SELECT capture FROM phase)) AS h
ASOF LEFT JOIN place AS w ON w.capture = h.capture AND h.from_ns >= w.from_ns
LEFT JOIN phase AS p ON p.capture = w.capture AND p.id = w.phase
GROUP BY ALL;
