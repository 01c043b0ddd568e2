-- Per side and member: its times (sum over its groups, mean over runs), and how late it starts collectives.
-- Depends on c_late, c_time_value.
-- Nothing without c_time_value.
WITH per_run AS (
    SELECT side, run, member, metric, sum(ns ORDER BY role, folder) AS ns FROM c_time_value GROUP BY ALL
), per_side AS (
    SELECT side, member, metric, sum(ns ORDER BY run) / count(*) AS ns FROM per_run GROUP BY ALL
), wide AS (
    SELECT side, member,
           max(ns) FILTER (WHERE metric = 'step') AS step_ns,
           max(ns) FILTER (WHERE metric = 'device_span') AS device_span_ns,
           max(ns) FILTER (WHERE metric = 'compute') AS compute_ns,
           max(ns) FILTER (WHERE metric = 'comm') AS comm_ns,
           max(ns) FILTER (WHERE metric = 'exposed_comm') AS exposed_comm_ns,
           max(ns) FILTER (WHERE metric = 'free') AS free_ns
    FROM per_side GROUP BY ALL
)
SELECT w.*, l.late_ns, l.most_late_ns, l.late_per_step_ns, coalesce(l.times_last, 0) AS times_last
FROM wide AS w LEFT JOIN c_late AS l USING (side, member)
ORDER BY side, member;
