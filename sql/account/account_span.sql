-- What the host does while a device waits for it: operators, calls with a reason of their own, collections and ranges that meet a gap of a track, on
-- the threads that are asked. What runs inside a reason on the same thread belongs to the reason, unless it is one itself. In captures without a
-- device, the thread that runs the step may wait for a collective without an operator: collectives are on thread -1. An operator that synchronises
-- does so only if it calls what waits, which aten::item of a number on the host does not; it counts as any other then, where calls of the runtime
-- are recorded. `id` orders the spans of a lane;
-- of nested ones, the inner one has the larger number. `activity` is their kind and name, a row of account_activity.
-- Depends on account_lane, account_track, account_wait, capture, collective, gc, host_api, host_op, host_reason,
-- on_line, range.
CREATE OR REPLACE TEMP TABLE account_met AS
WITH waiting AS (
    SELECT a.capture, a.thread, a.start_ns FROM host_api AS a LEFT JOIN host_reason AS r ON r.name = a.name
    WHERE r.reason = 'sync' OR contains(lower(a.name), 'memcpy')
), synchronising AS (
    SELECT o.capture, o.thread, o.name, o.start_ns, o.end_ns FROM host_op AS o JOIN host_reason AS r ON r.name = o.name AND r.reason = 'sync'
), done AS (
    SELECT o.capture, o.thread, coalesce(r.reason, 'operator') AS kind, o.name, o.start_ns, o.end_ns
    FROM host_op AS o LEFT JOIN host_reason AS r ON r.name = o.name WHERE r.reason IS DISTINCT FROM 'sync'
    UNION ALL
    SELECT s.capture, s.thread, CASE WHEN w.start_ns >= s.start_ns OR s.capture NOT IN (SELECT capture FROM host_api WHERE layer = 'runtime')
                                     THEN 'sync' ELSE 'operator' END, s.name, s.start_ns, s.end_ns
    FROM synchronising AS s ASOF LEFT JOIN waiting AS w ON w.capture = s.capture AND w.thread = s.thread AND s.end_ns > w.start_ns
    UNION ALL
    SELECT a.capture, a.thread, r.reason, a.name, a.start_ns, a.end_ns FROM host_api AS a JOIN host_reason AS r ON r.name = a.name
    UNION ALL
    SELECT capture, thread, 'gc', NULL, start_ns, end_ns FROM gc
    UNION ALL
    SELECT c.capture, -1, 'collective call', c.kind, c.start_ns, c.end_ns
    FROM collective AS c JOIN capture AS p ON p.capture = c.capture WHERE p.executor = 'host'
    UNION ALL
    SELECT a.capture, a.thread, coalesce(r.reason, 'python'), a.name, a.start_ns, a.end_ns
    FROM "range" AS a LEFT JOIN host_reason AS r ON r.name = a.name
    WHERE a.side = 'host' AND a.kind = 'range' AND NOT starts_with(a.name, 'ProfilerStep#')
)
SELECT l.lane, d.kind, d.name, d.start_ns, d.end_ns
FROM done AS d JOIN account_track AS t ON t.capture = d.capture JOIN account_lane AS l ON l.track = t.track AND l.thread = d.thread
ASOF JOIN (SELECT track, from_ns, until_ns FROM account_wait) AS g ON g.track = t.track AND d.start_ns < g.until_ns
WHERE g.from_ns < d.end_ns AND d.end_ns > d.start_ns;
CREATE OR REPLACE TEMP TABLE account_activity AS
SELECT row_number() OVER (ORDER BY kind, name) AS activity, *
FROM (SELECT DISTINCT kind, name FROM account_met UNION VALUES ('python', NULL), ('unknown', NULL));
CREATE OR REPLACE TEMP TABLE account_span AS
SELECT id, lane, activity, start_ns, end_ns
FROM (
    SELECT *, row_number() OVER () AS id, max(CASE WHEN is_reason THEN on_line(lane, end_ns) END) OVER (ROWS UNBOUNDED PRECEDING) AS reason_until
    FROM (
        SELECT m.lane, a.activity, a.kind NOT IN ('operator', 'python') AS is_reason, m.start_ns, m.end_ns
        FROM account_met AS m JOIN account_activity AS a ON a.kind = m.kind AND a.name IS NOT DISTINCT FROM m.name
        ORDER BY m.lane, m.start_ns, m.end_ns DESC, a.activity
    )
) WHERE is_reason OR coalesce(on_line(lane, start_ns) >= reason_until, TRUE);
