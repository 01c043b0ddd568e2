-- Divides the time in which a device only communicates: `wait` until the last member of the collective has started (the subject is that rank),
-- then `transfer`; `comm` where that is unknown, as for sends and receives, or if members were not profiled. Collectives are aligned as in
-- sql/compare/late_of.sql. They count only if all members were in them at one time. Clocks of several machines are aligned by the ends of
-- the collectives that they share. Running it again gives the same rows.
-- Depends on capture, r_account, r_collective, r_exposed.
CREATE OR REPLACE TEMP TABLE divided AS
WITH placed AS (
    SELECT c.capture, c.device_id, c.step, c.kind, c.ordinal, c.start_ns, c.end_ns, c.group_name, m.rank, m.host, coalesce(m.role, '') AS role,
           coalesce(m.phase, '') AS folder, coalesce(m.replica, -1) AS replica, m.world_size,
           dense_rank() OVER (PARTITION BY m.role, m.phase, m.replica, m.rank, c.step ORDER BY m.ordinal) AS place,
           CASE WHEN c.group_key LIKE 'group %' THEN coalesce(c.group_name, c.group_key) ELSE c.group_key END AS group_id,
           CASE WHEN c.group_key NOT LIKE 'group %' THEN len(string_split(c.group_key, ',')) ELSE m.world_size END AS members
    FROM r_collective AS c JOIN capture AS m ON m.capture = c.capture
    WHERE m.rank IS NOT NULL AND c.kind NOT IN ('send', 'recv', 'batch_send_recv') AND c.start_ns IS NOT NULL AND c.end_ns IS NOT NULL
), ended AS (
    SELECT role, folder, replica, step, place, kind, ordinal, group_id, median(end_ns) AS end_ns FROM placed GROUP BY ALL HAVING count(DISTINCT rank) > 1
), clock AS (   -- how far the clock of a capture is ahead; clocks of one machine are the same
    SELECT p.capture, CASE WHEN (SELECT count(DISTINCT host) > 1 FROM placed) THEN CAST(median(p.end_ns - e.end_ns) AS BIGINT) ELSE 0 END AS ahead_ns
    FROM placed AS p JOIN ended AS e USING (role, folder, replica, step, place, kind, ordinal, group_id) GROUP BY p.capture
), timed AS (
    SELECT p.* REPLACE (p.start_ns - k.ahead_ns AS start_ns, p.end_ns - k.ahead_ns AS end_ns), p.start_ns AS own_start_ns, k.ahead_ns
    FROM placed AS p JOIN clock AS k USING (capture)
), aligned AS (
    SELECT role, folder, replica, step, place, kind, ordinal, group_id, max(start_ns) AS last_ns,
           arg_max(rank, {'start_ns': start_ns, 'rank': -rank}) AS last_rank, count(DISTINCT rank) = max(members) AS is_whole
    FROM timed GROUP BY ALL HAVING count(DISTINCT rank) > 1 AND max(start_ns) <= min(end_ns)
), known AS (
    SELECT t.capture, t.device_id, t.kind, t.group_name, t.own_start_ns AS start_ns, min(a.last_ns + t.ahead_ns) AS last_ns,
           min('rank ' || a.last_rank) AS last_rank, bool_and(coalesce(a.is_whole, FALSE)) AS is_whole
    FROM timed AS t JOIN aligned AS a USING (role, folder, replica, step, place, kind, ordinal, group_id) GROUP BY ALL
), cut AS (
    SELECT e.*, k.last_rank, coalesce(k.is_whole, FALSE) AS is_whole, least(greatest(coalesce(k.last_ns, e.from_ns), e.from_ns), e.until_ns) AS cut_ns
    FROM r_exposed AS e LEFT JOIN known AS k
      ON k.capture = e.capture AND k.device_id IS NOT DISTINCT FROM e.device_id AND k.kind = e.kind
     AND k.group_name IS NOT DISTINCT FROM e.group_name AND k.start_ns = e.start_ns
)
SELECT capture, device_id, step, phase, 'wait' AS kind, last_rank AS subject, kind AS op_type, dtype, group_ranks, cut_ns - from_ns AS ns FROM cut
UNION ALL
SELECT capture, device_id, step, phase, CASE WHEN is_whole THEN 'transfer' ELSE 'comm' END, kind, NULL, dtype, group_ranks, until_ns - cut_ns FROM cut;

DELETE FROM r_account WHERE kind IN ('wait', 'transfer', 'comm') AND capture IN (SELECT capture FROM r_exposed);

INSERT INTO r_account BY NAME
SELECT capture, device_id, step, phase, kind, subject, op_type, dtype AS input_dtypes, group_ranks, sum(ns) AS ns, count(*) AS pieces
FROM divided WHERE ns > 0 GROUP BY ALL;

DROP TABLE divided;
