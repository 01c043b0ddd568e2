-- The fifty longest single kernels, and the framework operator that launched each. Needs events.
-- Depends on capture, host_op, kernel.
SELECT c.rank, k.step, k.device_id, k.name, k.op_type, (k.end_ns - k.start_ns) / 1e3 AS duration_us, k.input_shapes, o.name AS host_op
FROM kernel AS k JOIN capture AS c USING (capture)
LEFT JOIN host_op AS o ON o.capture = k.capture AND o.id = k.host_op_id
ORDER BY duration_us DESC, k.capture, k.id LIMIT 50;
