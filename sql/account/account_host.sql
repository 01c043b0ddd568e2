-- The gaps in which a device waits for the host, cut by what the launching thread does; else by what the other lane of the gap does. Ranges count only
-- if neither tells more. Without any, it is python; unknown if the capture records no operators, and before the first or after the last thing that
-- the host recorded.
-- Depends on account_activity, account_labelled, account_track, account_wait, account_window, host_extent.
-- Nothing without account_wait.
CREATE OR REPLACE TEMP TABLE account_own_label AS
SELECT w.frame, w.lane AS own_lane, w.other_lane AS lane, w.block_ns, l.from_ns, l.until_ns, l.activity,
       CASE WHEN a.name IS NOT NULL THEN l.activity END AS named, coalesce(a.kind, 'python') = 'python' AND coalesce(w.other_lane <> w.lane, FALSE) AS is_left
FROM account_labelled('account_wait') AS l JOIN account_wait AS w ON w.piece = l.piece LEFT JOIN account_activity AS a ON a.activity = l.activity;
CREATE OR REPLACE TEMP TABLE account_left AS
SELECT row_number() OVER (ORDER BY lane, from_ns) AS piece, * FROM account_own_label WHERE is_left;
CREATE OR REPLACE TEMP TABLE account_host AS
WITH nameless AS (
    SELECT activity, kind FROM account_activity WHERE name IS NULL
), answer AS (
    SELECT frame, block_ns, from_ns, until_ns, coalesce(activity, CASE WHEN lane IS NULL THEN (SELECT activity FROM nameless WHERE kind = 'unknown') END) AS activity
    FROM account_own_label WHERE NOT is_left
    UNION ALL
    SELECT f.frame, f.block_ns, l.from_ns, l.until_ns, CASE WHEN a.kind <> 'python' THEN l.activity ELSE coalesce(f.named, l.activity) END
    FROM account_labelled('account_left') AS l JOIN account_left AS f ON f.piece = l.piece LEFT JOIN account_activity AS a ON a.activity = l.activity
)
SELECT * REPLACE (coalesce(activity, (SELECT activity FROM nameless WHERE kind = 'python')) AS activity) FROM answer;
CREATE OR REPLACE TEMP TABLE account_beyond AS
WITH edge AS (   -- only windows that are not within the extent
    SELECT w.frame, e.first_ns, e.last_ns
    FROM account_window AS w JOIN account_track AS t ON t.track = w.track LEFT JOIN host_extent AS e ON e.capture = t.capture
    WHERE coalesce(w.from_ns < e.first_ns OR w.until_ns > e.last_ns, TRUE)
)
SELECT h.rowid AS row, h.*, e.first_ns, coalesce(e.last_ns, h.from_ns) AS last_ns
FROM account_host AS h JOIN edge AS e ON e.frame = h.frame
WHERE h.activity = (SELECT activity FROM account_activity WHERE kind = 'python' AND name IS NULL)
  AND coalesce(h.from_ns < e.first_ns OR h.until_ns > e.last_ns, TRUE);
DELETE FROM account_host WHERE rowid IN (SELECT row FROM account_beyond);
INSERT INTO account_host BY NAME
WITH unknown AS (
    SELECT activity FROM account_activity WHERE kind = 'unknown' AND name IS NULL
)
SELECT * EXCLUDE (row, first_ns, last_ns) REPLACE (greatest(from_ns, first_ns) AS from_ns, least(until_ns, last_ns) AS until_ns)
FROM account_beyond WHERE greatest(from_ns, first_ns) < least(until_ns, last_ns)
UNION ALL
SELECT * EXCLUDE (row, first_ns, last_ns) REPLACE (least(until_ns, first_ns) AS until_ns, (FROM unknown) AS activity) FROM account_beyond WHERE from_ns < first_ns
UNION ALL
SELECT * EXCLUDE (row, first_ns, last_ns) REPLACE (greatest(from_ns, last_ns) AS from_ns, (FROM unknown) AS activity) FROM account_beyond WHERE until_ns > last_ns;
