-- late_of(started): per side and member, how late it starts aligned collectives, and how often it starts last. Lateness is measured against
-- the earliest member of the same collective. If the members start nearly together (within a quarter of the mean spread), none of them
-- counts as last. Collectives are aligned by kind, group and ordinal within a capture; captures are paired by role, replica and place in
-- the step. Groups are identified by their members, else as in store/job_collective.sql by their name and the digits in the operators' names, which the
-- ranks of a run share. As in store/aligned.sql, a collective counts only if all were in it at one time, by aligned clocks (capture.ahead_ns).
-- Sends and receives are left out, because they pair two different operators. `started` names a table of collectives with the columns side, run,
-- role, folder, member, replica, place_in (the ordinal of the capture), step, kind, group_key, group_name, group_digits, ordinal, start_ns, end_ns
-- (both by aligned clocks).
-- Run by name: on each connection, because a temporary macro belongs to one.
CREATE OR REPLACE TEMP MACRO late_of(started) AS TABLE
WITH placed AS (
    SELECT side, run, member, role, folder, coalesce(replica, -1) AS replica, step, kind, ordinal, start_ns, end_ns,
           dense_rank() OVER (PARTITION BY side, run, role, folder, member, step ORDER BY place_in) AS place,
           CASE WHEN group_key LIKE 'group %' THEN concat_ws(' ', coalesce(group_name, group_key), group_digits)
                ELSE group_key END AS group_id
    FROM query_table(started)
    WHERE kind NOT IN ('send', 'recv', 'batch_send_recv') AND start_ns IS NOT NULL
), aligned AS (
    SELECT side, run, role, folder, replica, step, place, kind, ordinal, group_id, min(start_ns) AS first_ns, max(start_ns) AS last_ns
    FROM placed GROUP BY ALL HAVING count(DISTINCT member) > 1 AND coalesce(max(start_ns) <= min(end_ns), TRUE)
), spread AS (
    SELECT side, sum(last_ns - first_ns) / count(*) AS mean_ns FROM aligned GROUP BY side
)
SELECT p.side, p.member, sum(p.start_ns - a.first_ns) / count(*) AS late_ns, max(p.start_ns - a.first_ns) AS most_late_ns,
       sum(p.start_ns - a.first_ns) / count(DISTINCT (p.run, p.step)) AS late_per_step_ns,
       count(*) FILTER (WHERE p.start_ns = a.last_ns AND a.last_ns - a.first_ns > s.mean_ns / 4) AS times_last
FROM placed AS p
JOIN aligned AS a USING (side, run, role, folder, replica, step, place, kind, ordinal, group_id)
JOIN spread AS s USING (side)
GROUP BY p.side, p.member;
