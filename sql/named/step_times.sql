-- Times of every step, capture and device in milliseconds.
-- Depends on capture, r_time.
SELECT t.step, c.rank, c.role, t.device_id, t.step_ns / 1e6 AS step_ms, t.preparing_ns / 1e6 AS preparing_ms,
       t.device_span_ns / 1e6 AS device_span_ms, t.compute_ns / 1e6 AS compute_ms, t.exposed_comm_ns / 1e6 AS exposed_comm_ms,
       t.overlapped_comm_ns / 1e6 AS overlapped_comm_ms, t.free_ns / 1e6 AS free_ms, t.exposed_copy_ns / 1e6 AS exposed_copy_ms
FROM r_time AS t JOIN capture AS c USING (capture) ORDER BY t.step, c.rank, c.ordinal, t.device_id;
