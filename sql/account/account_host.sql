-- The gaps in which a device waits for the host, cut by what the launching thread does; else by what the thread that runs the steps does, or in
-- captures without a device by the collective that it waits for. Ranges count only if neither tells more. Without any, it is python, or unknown
-- if the capture records no operators.
-- Depends on account_gap, account_labelled, account_span, account_track, capture, main_thread.
CREATE OR REPLACE TEMP TABLE account_wait AS
SELECT g.track, coalesce(g.thread, m.thread, 0) AS thread, CASE WHEN p.executor = 'host' THEN -1 ELSE m.thread END AS other,
       g.window_until_ns, g.block_ns, g.from_ns, g.until_ns
FROM account_gap AS g JOIN account_track AS t ON t.track = g.track JOIN capture AS p ON p.capture = t.capture
LEFT JOIN main_thread AS m ON m.capture = t.capture
WHERE g.cause = 'host';
CREATE OR REPLACE TEMP TABLE account_own_label AS
SELECT l.track, w.thread AS own_thread, w.other AS thread, w.window_until_ns, w.block_ns, l.from_ns, l.until_ns, s.name, s.kind
FROM account_labelled('account_wait') AS l JOIN account_wait AS w ON w.track = l.track AND w.until_ns = l.piece_ns
LEFT JOIN account_span AS s ON s.id = l.span;
CREATE OR REPLACE TEMP TABLE account_left AS
FROM account_own_label WHERE coalesce(kind, 'python') = 'python' AND thread <> own_thread;
CREATE OR REPLACE TEMP TABLE account_host AS
SELECT track, window_until_ns, block_ns, from_ns, until_ns, name AS subject, coalesce(kind, CASE WHEN thread IS NULL THEN 'unknown' ELSE 'python' END) AS kind
FROM account_own_label WHERE NOT (coalesce(kind, 'python') = 'python' AND coalesce(thread <> own_thread, FALSE))
UNION ALL
SELECT l.track, f.window_until_ns, f.block_ns, l.from_ns, l.until_ns, CASE WHEN s.kind <> 'python' OR f.name IS NULL THEN s.name ELSE f.name END,
       coalesce(s.kind, 'python')
FROM account_labelled('account_left') AS l JOIN account_left AS f ON f.track = l.track AND f.until_ns = l.piece_ns
LEFT JOIN account_span AS s ON s.id = l.span;
