-- Times of each rank and step: captures of one rank and step are summed.
-- Depends on shown_device.
CREATE OR REPLACE TEMP TABLE shown_step AS
SELECT replica, rank, member, step, max(step_ns) AS step_ns, sum(preparing_ns) AS preparing_ns,
       sum(device_span_ns) AS device_span_ns, sum(compute_ns) AS compute_ns, sum(exposed_comm_ns) AS exposed_comm_ns,
       sum(overlapped_comm_ns) AS overlapped_comm_ns, sum(free_ns) AS free_ns, sum(exposed_copy_ns) AS exposed_copy_ns,
       sum(p2p_ns) AS p2p_ns, sum(bubble_ns) AS bubble_ns, sum(stage_ns) AS stage_ns
FROM shown_device GROUP BY ALL;
