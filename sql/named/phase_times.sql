-- Times of every phase by step, capture and device in milliseconds.
-- Depends on capture, r_phase.
SELECT p.step, c.rank, p.device_id, p.phase, p.role, p.wall_ns / 1e6 AS wall_ms, p.compute_ns / 1e6 AS compute_ms,
       p.exposed_comm_ns / 1e6 AS exposed_comm_ms, p.free_ns / 1e6 AS free_ms, p.kernels, p.collectives
FROM r_phase AS p JOIN capture AS c USING (capture) ORDER BY p.step, c.rank, c.ordinal, p.device_id, p.phase;
