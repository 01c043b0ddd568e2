-- Per side and member: how late it starts aligned collectives, against the earliest member of the same one, and how often it starts last.
-- Collectives whose members start nearly together (within a quarter of the mean spread) have no last one. Aligned by kind, group and ordinal
-- in the capture (that of the same role, replica and place in the step); the group by its members, else by its name, which the ranks of a run share.
-- Sends and receives pair two different operators, and are left out. Depends on c_collective, c_capture.
CREATE TABLE c_late AS
WITH placed AS (
    SELECT l.side, l.run, c.member, c.role, c.folder, c.replica, l.step, l.kind, l.ordinal, l.start_ns,
           dense_rank() OVER (PARTITION BY l.side, l.run, c.role, c.folder, c.member, l.step ORDER BY c.ordinal) AS place,
           CASE WHEN l.group_key LIKE 'group %' THEN coalesce(l.group_name, l.group_key) ELSE l.group_key END AS group_id
    FROM c_collective AS l JOIN c_capture AS c USING (side, run, capture)
    WHERE l.kind NOT IN ('send', 'recv', 'batch_send_recv') AND l.start_ns IS NOT NULL
), aligned AS (
    SELECT side, run, role, folder, coalesce(replica, -1) AS replica, step, place, kind, ordinal, group_id, min(start_ns) AS first_ns, max(start_ns) AS last_ns
    FROM placed GROUP BY ALL HAVING count(DISTINCT member) > 1
), spread AS (
    SELECT side, sum(last_ns - first_ns) / count(*) AS mean_ns FROM aligned GROUP BY side
)
SELECT p.side, p.member, sum(p.start_ns - a.first_ns) / count(*) AS late_ns, max(p.start_ns - a.first_ns) AS most_late_ns,
       sum(p.start_ns - a.first_ns) / count(DISTINCT (p.run, p.step)) AS late_per_step_ns,
       count(*) FILTER (WHERE p.start_ns = a.last_ns AND a.last_ns - a.first_ns > s.mean_ns / 4) AS times_last
FROM (SELECT * REPLACE (coalesce(replica, -1) AS replica) FROM placed) AS p
JOIN aligned AS a USING (side, run, role, folder, replica, step, place, kind, ordinal, group_id)
JOIN spread AS s USING (side)
GROUP BY p.side, p.member;
