-- What the host does while a device waits for it: operators, calls with a reason of their own, collections and ranges that meet a gap of a track.
-- What runs inside a reason on the same thread belongs to the reason, unless it is one itself. In captures without a device, the thread that
-- runs the step may wait for a collective without an operator: collectives are on thread -1. `id` orders nested spans: the inner one has the
-- larger number.
-- Depends on account_gap, account_track, capture, collective, gc, host_api, host_op, host_reason, range.
CREATE OR REPLACE TEMP TABLE account_span AS
WITH gap AS (
    SELECT track, from_ns, until_ns FROM account_gap WHERE cause = 'host'
), operator AS (   -- the ASOF join sorts all columns that it carries, so the others follow later
    SELECT t.track, o.capture, o.id, o.start_ns, o.end_ns
    FROM host_op AS o JOIN account_track AS t ON t.capture = o.capture
    ASOF JOIN gap AS g ON g.track = t.track AND o.start_ns < g.until_ns
    WHERE g.from_ns < o.end_ns
), other AS (
    SELECT a.capture, a.thread, r.reason AS kind, a.name, a.start_ns, a.end_ns FROM host_api AS a JOIN host_reason AS r ON r.name = a.name
    UNION ALL
    SELECT capture, thread, 'gc', NULL, start_ns, end_ns FROM gc
    UNION ALL
    SELECT c.capture, -1, 'collective call', c.kind, c.start_ns, c.end_ns
    FROM collective AS c JOIN capture AS p ON p.capture = c.capture WHERE p.executor = 'host'
    UNION ALL
    SELECT a.capture, a.thread, coalesce(r.reason, 'python'), a.name, a.start_ns, a.end_ns
    FROM "range" AS a LEFT JOIN host_reason AS r ON r.name = a.name
    WHERE a.side = 'host' AND a.kind = 'range' AND NOT starts_with(a.name, 'ProfilerStep#')
), span AS (
    SELECT o.track, h.thread, coalesce(r.reason, 'operator') AS kind, h.name, o.start_ns, o.end_ns
    FROM operator AS o JOIN host_op AS h ON h.capture = o.capture AND h.id = o.id LEFT JOIN host_reason AS r ON r.name = h.name
    UNION ALL
    SELECT t.track, o.* EXCLUDE capture FROM other AS o JOIN account_track AS t ON t.capture = o.capture
    ASOF JOIN gap AS g ON g.track = t.track AND o.start_ns < g.until_ns
    WHERE g.from_ns < o.end_ns
)
SELECT *, row_number() OVER (ORDER BY start_ns, end_ns DESC, kind, name) AS id FROM span
WHERE end_ns > start_ns
QUALIFY kind NOT IN ('operator', 'python') OR start_ns >= coalesce(max(CASE WHEN kind NOT IN ('operator', 'python') THEN end_ns END) OVER (
    PARTITION BY track, thread ORDER BY start_ns, end_ns DESC, kind, name ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start_ns);
