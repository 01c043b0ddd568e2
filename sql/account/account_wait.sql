-- The gaps in which a device waits for the host: what the host does in them is asked of two lanes. A lane is a thread, seen from one track: `lane` is
-- the launching thread, `other_lane` the thread that runs the steps; in captures without a device it is -1, the thread of collectives. `piece` numbers
-- the gaps by lane and time.
-- Depends on account_gap, account_track, account_window, capture, main_thread.
-- Nothing without account_gap, account_track, account_window, capture.
CREATE OR REPLACE TEMP TABLE account_asked AS
SELECT w.track, coalesce(g.thread, m.thread, 0) AS thread, CASE WHEN p.executor = 'host' THEN -1 ELSE m.thread END AS other,
       g.frame, g.block_ns, g.from_ns, g.until_ns
FROM account_gap AS g JOIN account_window AS w ON w.frame = g.frame JOIN account_track AS t ON t.track = w.track JOIN capture AS p ON p.capture = t.capture
LEFT JOIN main_thread AS m ON m.capture = t.capture
WHERE g.cause = 'host';
CREATE OR REPLACE TEMP TABLE account_lane AS
SELECT row_number() OVER (ORDER BY track, thread) AS lane, track, thread
FROM (SELECT track, thread FROM account_asked UNION SELECT track, other FROM account_asked WHERE other IS NOT NULL);
CREATE OR REPLACE TEMP TABLE account_wait AS
SELECT row_number() OVER (ORDER BY l.lane, a.from_ns) AS piece, l.lane, o.lane AS other_lane, a.track, a.frame, a.block_ns, a.from_ns, a.until_ns
FROM account_asked AS a JOIN account_lane AS l ON l.track = a.track AND l.thread = a.thread
LEFT JOIN account_lane AS o ON o.track = a.track AND o.thread = a.other;
