-- Aligns the collectives of all ranks, one row per rank: when the last rank started, and which one that is. Collectives meet by kind, group and
-- ordinal in the step, a send meets the receive of the other member of a group of two. They count only if all were in them at one time. Captures
-- of one job meet in a step by their place in time. Clocks of several machines are aligned by the ends of the collectives that they share. Where no
-- machine is named, ranks on devices of the same number are on several. Groups are identified by their members, else by their name and the digits
-- in the operators' names ("hcom_allReduce__210_0_1"), which come from the group's hash: "Group 0 Communication" is another group in each process.
-- `ahead_ns`: how far the clock of the capture is ahead. `last_ns` is in the clock of the capture.
-- Depends on capture, r_collective.
-- Nothing without capture, r_collective.
CREATE OR REPLACE TEMP TABLE job_step AS
SELECT capture, step, rank, dense_rank() OVER (ORDER BY role, folder, replica, place) AS job
FROM (
    SELECT c.capture, c.step, m.rank, coalesce(m.role, '') AS role, coalesce(m.phase, '') AS folder, coalesce(m.replica, -1) AS replica,
           dense_rank() OVER (PARTITION BY m.role, m.phase, m.replica, m.rank, c.step ORDER BY m.ordinal) AS place
    FROM (SELECT DISTINCT capture, step FROM r_collective) AS c JOIN capture AS m ON m.capture = c.capture
    WHERE m.rank IS NOT NULL
);
CREATE OR REPLACE TEMP TABLE aligned AS
WITH grouped AS (
    SELECT c.*, CASE WHEN c.group_key NOT LIKE 'group %' THEN string_split(c.group_key, ',') END AS ranks FROM r_collective AS c
), placed AS (
    SELECT j.job, c.capture, c.device_id, c.step, m.rank, m.host, c.kind, c.ordinal, c.start_ns, c.end_ns, c.group_name,
           coalesce(len(c.ranks), m.world_size) AS members,
           CASE WHEN c.ranks IS NULL THEN concat_ws(' ', coalesce(c.group_name, c.group_key), regexp_extract(c.name, '__([0-9]{3})_', 1))
                ELSE c.group_key END AS group_id,
           CASE WHEN c.kind = 'send' THEN 'from ' || m.rank
                WHEN c.kind = 'recv' THEN 'from ' || list_filter(c.ranks, lambda rank: rank <> CAST(m.rank AS VARCHAR))[1] ELSE c.kind END AS meeting
    FROM grouped AS c JOIN capture AS m ON m.capture = c.capture JOIN job_step AS j ON j.capture = c.capture AND j.step IS NOT DISTINCT FROM c.step
    WHERE c.start_ns IS NOT NULL AND c.end_ns IS NOT NULL AND (c.kind NOT IN ('send', 'recv', 'batch_send_recv') OR len(c.ranks) = 2)
), ended AS (
    SELECT job, step, meeting, ordinal, group_id, median(end_ns) AS end_ns FROM placed GROUP BY ALL HAVING count(DISTINCT rank) > 1
), machines AS (
    SELECT count(DISTINCT host) > 1 AS several FROM placed
    UNION ALL
    SELECT count(host) = 0 AND count(device_id) = count(*) AND count(DISTINCT device_id) < count(DISTINCT rank) FROM placed GROUP BY job
), clock AS (   -- clocks of one machine are the same
    SELECT p.capture, CASE WHEN (SELECT bool_or(several) FROM machines) THEN CAST(median(p.end_ns - e.end_ns) AS BIGINT) ELSE 0 END AS ahead_ns
    FROM placed AS p JOIN ended AS e
      ON e.job = p.job AND e.step IS NOT DISTINCT FROM p.step AND e.meeting = p.meeting AND e.ordinal = p.ordinal AND e.group_id = p.group_id
    GROUP BY p.capture
), timed AS (
    SELECT p.* REPLACE (p.start_ns - k.ahead_ns AS start_ns, p.end_ns - k.ahead_ns AS end_ns), p.start_ns AS own_start_ns, k.ahead_ns
    FROM placed AS p JOIN clock AS k USING (capture)
), met AS (
    SELECT job, step, meeting, ordinal, group_id, max(start_ns) AS last_ns, count(DISTINCT rank) = max(members) AS is_whole,
           arg_max({'rank': rank, 'device_id': device_id}, {'start_ns': start_ns, 'rank': -CAST(rank AS BIGINT), 'device_id': -CAST(device_id AS BIGINT)}) AS last
    FROM timed GROUP BY ALL HAVING count(DISTINCT rank) > 1 AND max(start_ns) <= min(end_ns)
)
SELECT t.job, t.capture, t.device_id, t.kind, t.group_name, t.own_start_ns AS start_ns, t.ahead_ns, min(m.last_ns + t.ahead_ns) AS last_ns,
       min(m.last) AS last, bool_and(m.is_whole) AS is_whole
FROM timed AS t JOIN met AS m
  ON m.job = t.job AND m.step IS NOT DISTINCT FROM t.step AND m.meeting = t.meeting AND m.ordinal = t.ordinal AND m.group_id = t.group_id
GROUP BY ALL;
