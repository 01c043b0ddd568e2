-- Milliseconds of each rank, mean over its steps. Lateness: the mean delay of its collectives behind the earliest rank of the group, the
-- largest delay (most_late), and the number of collectives that it starts last (starts_last).
-- Depends on shown_late, shown_step.
WITH timed AS (
    SELECT replica, shown_step.rank, member, count(*) AS steps, avg(step_ns) / 1e6 AS step_ms, avg(preparing_ns) / 1e6 AS preparing_ms,
           avg(device_span_ns) / 1e6 AS device_span_ms, avg(compute_ns) / 1e6 AS compute_ms,
           avg(exposed_comm_ns) / 1e6 AS exposed_comm_ms, avg(overlapped_comm_ns) / 1e6 AS overlapped_comm_ms,
           avg(free_ns) / 1e6 AS free_ms, avg(exposed_copy_ns) / 1e6 AS exposed_copy_ms,
           avg(p2p_ns) / 1e6 AS p2p_ms, avg(bubble_ns) / 1e6 AS bubble_ms, avg(stage_ns) / 1e6 AS stage_ms
    FROM shown_step GROUP BY ALL
)
SELECT t.member AS rank, t.* EXCLUDE (replica, rank, member), l.late_ns / 1e6 AS late_ms, l.most_late_ns / 1e6 AS most_late_ms, l.times_last AS starts_last
FROM timed AS t LEFT JOIN shown_late AS l USING (member) ORDER BY t.replica, t.rank;
