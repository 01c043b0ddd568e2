-- The gaps in which a device waits for the host, cut by what the launching thread does; else by what the other lane of the gap does. Ranges count only
-- if neither tells more. Without any, it is python; unknown if the capture records no operators, and before the first or after the last thing that
-- the host recorded.
-- Depends on account_activity, account_labelled, account_track, account_wait, host_extent.
-- Nothing without account_wait.
CREATE OR REPLACE TEMP TABLE account_own_label AS
SELECT w.track, w.lane AS own_lane, w.other_lane AS lane, w.window_until_ns, w.block_ns, l.from_ns, l.until_ns, a.activity, a.name,
       coalesce(a.kind, 'python') = 'python' AND coalesce(w.other_lane <> w.lane, FALSE) AS is_left
FROM account_labelled('account_wait') AS l JOIN account_wait AS w ON w.piece = l.piece LEFT JOIN account_activity AS a ON a.activity = l.activity;
CREATE OR REPLACE TEMP TABLE account_left AS
SELECT row_number() OVER (ORDER BY lane, from_ns) AS piece, * FROM account_own_label WHERE is_left;
CREATE OR REPLACE TEMP TABLE account_host AS
WITH nameless AS (
    SELECT activity, kind FROM account_activity WHERE name IS NULL
), python AS (
    SELECT activity FROM nameless WHERE kind = 'python'
), answer AS (
    SELECT track, window_until_ns, block_ns, from_ns, until_ns, coalesce(activity, CASE WHEN lane IS NULL THEN (SELECT activity FROM nameless WHERE kind = 'unknown') END) AS activity
    FROM account_own_label WHERE NOT is_left
    UNION ALL
    SELECT f.track, f.window_until_ns, f.block_ns, l.from_ns, l.until_ns, CASE WHEN a.kind <> 'python' OR f.name IS NULL THEN a.activity ELSE f.activity END
    FROM account_labelled('account_left') AS l JOIN account_left AS f ON f.piece = l.piece LEFT JOIN account_activity AS a ON a.activity = l.activity
), named AS (
    SELECT a.* REPLACE (coalesce(a.activity, (FROM python)) AS activity), e.first_ns, coalesce(e.last_ns, a.from_ns) AS last_ns
    FROM answer AS a JOIN account_track AS t ON t.track = a.track LEFT JOIN host_extent AS e ON e.capture = t.capture
), cut AS (
    SELECT *, activity IN (FROM python) AND coalesce(from_ns < first_ns OR until_ns > last_ns, TRUE) AS is_beyond FROM named
)
SELECT * EXCLUDE (first_ns, last_ns, is_beyond) FROM cut WHERE NOT is_beyond
UNION ALL
SELECT * EXCLUDE (first_ns, last_ns, is_beyond) REPLACE (greatest(from_ns, first_ns) AS from_ns, least(until_ns, last_ns) AS until_ns)
FROM cut WHERE is_beyond AND greatest(from_ns, first_ns) < least(until_ns, last_ns)
UNION ALL
SELECT * EXCLUDE (first_ns, last_ns, is_beyond) REPLACE (least(until_ns, first_ns) AS until_ns, (SELECT activity FROM nameless WHERE kind = 'unknown') AS activity)
FROM cut WHERE is_beyond AND from_ns < first_ns
UNION ALL
SELECT * EXCLUDE (first_ns, last_ns, is_beyond) REPLACE (greatest(from_ns, last_ns) AS from_ns, (SELECT activity FROM nameless WHERE kind = 'unknown') AS activity)
FROM cut WHERE is_beyond AND until_ns > last_ns;
