-- Busy time by bucket: the differences of the busy time before each edge of the buckets. The parts of one kind on a track do not overlap, so
-- before an edge lie the parts up to the last one that began by then, less what this one has ahead.
-- Depends on account_gap, account_own, account_window, timeline_window.
-- Nothing without timeline_window.
INSERT INTO r_timeline_busy
WITH hull AS (
    SELECT track, min(from_ns) AS from_ns, max(until_ns) AS until_ns FROM timeline_window GROUP BY track
), part AS (
    SELECT p.* FROM (
        SELECT track, CASE what WHEN 'kernel' THEN 'compute' WHEN 'collective' THEN 'comm' ELSE 'copy' END AS kind, from_ns, until_ns FROM account_own
        UNION ALL
        SELECT w.track, CASE WHEN g.cause = 'queue' THEN 'queue' ELSE 'host' END, g.from_ns, g.until_ns
        FROM account_gap AS g JOIN account_window AS w ON w.frame = g.frame WHERE g.cause <> 'unknown'
    ) AS p JOIN hull AS h ON h.track = p.track AND p.until_ns > h.from_ns AND p.from_ns < h.until_ns
), summed AS (
    SELECT *, sum(until_ns - from_ns) OVER (PARTITION BY track, kind ORDER BY from_ns ROWS UNBOUNDED PRECEDING) AS sum_ns FROM part
), edge AS (
    SELECT w.track, w.capture, w.phase, k.kind, r.number, least(w.from_ns + r.number * w.bucket_ns, w.until_ns) AS at_ns
    FROM timeline_window AS w JOIN (SELECT DISTINCT track, kind FROM part) AS k ON k.track = w.track
    JOIN range(201) AS r(number) ON w.from_ns + (r.number - 1) * w.bucket_ns < w.until_ns
), before AS (
    SELECT e.capture, e.phase, e.kind, e.number, CAST(coalesce(s.sum_ns - greatest(s.until_ns - e.at_ns, 0), 0) AS BIGINT) AS ns
    FROM edge AS e ASOF LEFT JOIN summed AS s ON s.track = e.track AND s.kind = e.kind AND e.at_ns >= s.from_ns
), bucket AS (
    SELECT capture, phase, kind, number, lead(ns) OVER (PARTITION BY capture, phase, kind ORDER BY number) - ns AS ns FROM before
)
SELECT capture, phase, kind, list(ns ORDER BY number) FROM bucket WHERE ns IS NOT NULL GROUP BY capture, phase, kind HAVING max(ns) > 0;
