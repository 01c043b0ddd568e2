-- Milliseconds of each step: the sum over roles of the mean over their own members.
-- Depends on shown_device.
WITH stepped AS (
    SELECT role, folder, member, step, max(replica) AS replica, max(step_ns) AS step_ns, sum(preparing_ns) AS preparing_ns,
           sum(device_span_ns) AS device_span_ns, sum(compute_ns) AS compute_ns, sum(exposed_comm_ns) AS exposed_comm_ns,
           sum(overlapped_comm_ns) AS overlapped_comm_ns, sum(free_ns) AS free_ns, sum(exposed_copy_ns) AS exposed_copy_ns,
           sum(p2p_ns) AS p2p_ns, sum(bubble_ns) AS bubble_ns, sum(stage_ns) AS stage_ns
    FROM shown_device GROUP BY ALL
), grouped AS (
    SELECT role, folder, step, avg(step_ns) AS step_ns, avg(preparing_ns) AS preparing_ns, avg(device_span_ns) AS device_span_ns,
           avg(compute_ns) AS compute_ns, avg(exposed_comm_ns) AS exposed_comm_ns, avg(overlapped_comm_ns) AS overlapped_comm_ns,
           avg(free_ns) AS free_ns, avg(exposed_copy_ns) AS exposed_copy_ns,
           avg(p2p_ns) AS p2p_ns, avg(bubble_ns) AS bubble_ns, avg(stage_ns) AS stage_ns
    FROM stepped GROUP BY ALL
), spanned AS (
    SELECT step FROM stepped WHERE coalesce(step_ns, device_span_ns) IS NOT NULL
), members AS (   -- members that the times come from; those without a span count only if no member has one
    SELECT step, count(DISTINCT member) FILTER (WHERE replica < 0) AS ranks, nullif(count(DISTINCT replica) FILTER (WHERE replica >= 0), 0) AS replicas
    FROM stepped WHERE coalesce(step_ns, device_span_ns) IS NOT NULL OR step NOT IN (SELECT step FROM spanned) GROUP BY step
)
SELECT step, any_value(ranks) AS ranks, any_value(replicas) AS replicas, sum(step_ns) / 1e6 AS step_ms, sum(preparing_ns) / 1e6 AS preparing_ms,
       sum(device_span_ns) / 1e6 AS device_span_ms, sum(compute_ns) / 1e6 AS compute_ms,
       sum(exposed_comm_ns) / 1e6 AS exposed_comm_ms, sum(overlapped_comm_ns) / 1e6 AS overlapped_comm_ms,
       sum(free_ns) / 1e6 AS free_ms, sum(exposed_copy_ns) / 1e6 AS exposed_copy_ms,
       sum(p2p_ns) / 1e6 AS p2p_ms, sum(bubble_ns) / 1e6 AS bubble_ms, sum(stage_ns) / 1e6 AS stage_ms
FROM grouped JOIN members USING (step) GROUP BY step ORDER BY step;
