-- Step, phase and device time of each framework operator. The lookups carry narrow rows only, for speed. The start of the operator decides
-- its step and phase. If steps were chosen, operators outside them are left out. The device time launched inside an operator, at any depth,
-- is a difference of a running sum over the launching operators of its thread: the value at its end minus the value at its start.
-- Between two cuts of a thread, none of these change: a launching operator counts from the nanosecond after its start.
-- Variables: steps.
-- Depends on place, stage_host_op, stage_kernel.
-- Nothing without stage_host_op.
-- Runs after too_long.
CREATE OR REPLACE TEMP TABLE host_op_place AS
WITH extent AS (   -- an ASOF join may not match NULL with NULL; operators of unknown threads get no device time
    SELECT capture, coalesce(thread, -1) AS thread, min(start_ns) AS first_ns, max(start_ns) AS last_ns FROM stage_host_op GROUP BY ALL
), change AS (
    SELECT o.capture, coalesce(o.thread, -1) AS thread, o.start_ns + 1 AS from_ns, CASE WHEN o.thread IS NOT NULL THEN k.end_ns - k.start_ns ELSE 0 END AS ns
    FROM stage_kernel AS k JOIN stage_host_op AS o ON o.capture = k.capture AND o.id = k.host_op_id
    UNION ALL SELECT capture, thread, first_ns, 0 FROM extent
    UNION ALL SELECT e.capture, e.thread, p.from_ns, 0 FROM place AS p JOIN extent AS e ON e.capture = p.capture AND p.from_ns BETWEEN e.first_ns AND e.last_ns
), running AS (
    SELECT capture, thread, from_ns, CAST(sum(sum(ns)) OVER (PARTITION BY capture, thread ORDER BY from_ns) AS BIGINT) AS before_ns
    FROM change GROUP BY capture, thread, from_ns
), cut AS MATERIALIZED (
    SELECT r.capture, r.thread, r.from_ns, r.before_ns, p.step, p.phase
    FROM running AS r ASOF LEFT JOIN place AS p ON p.capture = r.capture AND r.from_ns >= p.from_ns
), started AS (
    SELECT o.capture, o.id, o.thread, o.end_ns, c.step, c.phase, coalesce(c.before_ns, 0) AS before_ns
    FROM (SELECT capture, id, thread, start_ns, end_ns FROM stage_host_op) AS o
    ASOF LEFT JOIN cut AS c ON c.capture = o.capture AND c.thread = coalesce(o.thread, -1) AND o.start_ns >= c.from_ns
)
SELECT s.capture, s.id, s.step, s.phase, CASE WHEN s.thread IS NOT NULL THEN coalesce(c.before_ns, 0) - s.before_ns ELSE 0 END AS device_ns
FROM started AS s ASOF LEFT JOIN cut AS c ON c.capture = s.capture AND c.thread = s.thread AND s.end_ns >= c.from_ns
WHERE getvariable('steps') IS NULL OR s.step IS NOT NULL;
