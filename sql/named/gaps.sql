-- The fifty longest gaps of a device, and the kernel that ended each. Needs events.
-- Depends on capture, host_op, kernel.
SELECT c.rank, k.step, k.device_id, k.gap_ns / 1e3 AS gap_us, k.start_ns - k.gap_ns AS gap_start_ns, k.name AS ended_by, k.op_type,
       o.name AS host_op
FROM kernel AS k JOIN capture AS c USING (capture)
LEFT JOIN host_op AS o ON o.capture = k.capture AND o.id = k.host_op_id
WHERE k.gap_ns > 0 ORDER BY k.gap_ns DESC, k.capture, k.id LIMIT 50;
