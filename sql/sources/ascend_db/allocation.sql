-- One row per allocation.
-- Variables: from_ns, holes, until_ns.
-- Depends on in_window, src_OP_MEMORY, text_by_id.
-- Nothing without src_OP_MEMORY.
INSERT INTO allocation
SELECT m.capture, m.device_id, n.value, m.size_bytes, m.alloc_ns, m.release_ns, m.duration_ns
FROM src_OP_MEMORY AS m LEFT JOIN text_by_id AS n ON n.capture = m.capture AND n.id = m.name
WHERE in_window(m.alloc_ns);
