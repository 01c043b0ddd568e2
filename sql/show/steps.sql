-- Milliseconds of each step, the mean over ranks. Depends on shown_step.
SELECT step, count(DISTINCT member) AS ranks, avg(step_ns) / 1e6 AS step_ms, avg(preparing_ns) / 1e6 AS preparing_ms,
       avg(device_span_ns) / 1e6 AS device_span_ms, avg(compute_ns) / 1e6 AS compute_ms,
       avg(exposed_comm_ns) / 1e6 AS exposed_comm_ms, avg(overlapped_comm_ns) / 1e6 AS overlapped_comm_ms,
       avg(free_ns) / 1e6 AS free_ms, avg(exposed_copy_ns) / 1e6 AS exposed_copy_ms
FROM shown_step GROUP BY step ORDER BY step;
