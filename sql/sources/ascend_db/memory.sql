-- Memory levels of the framework, of GE and of CANN modules (bytes reserved). If events are not kept,
-- only the lowest and highest levels of slots of 2^20 ns (1 ms) are needed, the first of equal ones: the peaks, and what r_level draws over time.
-- Variables: from_ns, holes, keep_events, until_ns.
-- Depends on in_window, src_ENUM_MODULE, src_MEMORY_RECORD, src_NPU_MEM, src_NPU_MODULE_MEM, text_by_id.
INSERT INTO memory
SELECT m.capture, m.device_id, coalesce(c.value, 'unknown'), m.ts_ns, m.allocated_bytes, m.reserved_bytes, m.active_bytes
FROM src_MEMORY_RECORD AS m LEFT JOIN text_by_id AS c ON c.capture = m.capture AND c.id = m.component
WHERE getvariable('keep_events') AND in_window(m.ts_ns);
INSERT INTO memory
SELECT m.capture, m.device_id, coalesce(c.value, 'unknown'), m.ts_ns, m.allocated_bytes, m.reserved_bytes, m.active_bytes
FROM (
    SELECT DISTINCT capture, device_id, component, unnest([
               arg_max(level, {'size': allocated_bytes, 'at': -ts_ns}) FILTER (WHERE allocated_bytes IS NOT NULL),
               arg_min(level, {'size': allocated_bytes, 'at': ts_ns}) FILTER (WHERE allocated_bytes >= 0),
               arg_max(level, {'size': reserved_bytes, 'at': -ts_ns}) FILTER (WHERE reserved_bytes IS NOT NULL),
               arg_min(level, {'size': reserved_bytes, 'at': ts_ns}) FILTER (WHERE reserved_bytes >= 0),
               arg_max(level, {'size': active_bytes, 'at': -ts_ns}) FILTER (WHERE active_bytes IS NOT NULL)
           ], recursive := TRUE)
    FROM (
        SELECT *, {'ts_ns': ts_ns, 'allocated_bytes': allocated_bytes, 'reserved_bytes': reserved_bytes, 'active_bytes': active_bytes} AS level
        FROM src_MEMORY_RECORD WHERE NOT getvariable('keep_events') AND in_window(ts_ns)
    )
    GROUP BY capture, device_id, component, ts_ns >> 20
) AS m LEFT JOIN text_by_id AS c ON c.capture = m.capture AND c.id = m.component
WHERE m.ts_ns IS NOT NULL;
INSERT INTO memory
SELECT m.capture, m.device_id, 'module ' || coalesce(e.name, CAST(m.module AS VARCHAR)), m.ts_ns, NULL, m.reserved_bytes, NULL
FROM src_NPU_MODULE_MEM AS m LEFT JOIN src_ENUM_MODULE AS e ON e.capture = m.capture AND e.id = m.module
WHERE in_window(m.ts_ns);
INSERT INTO memory
SELECT m.capture, m.device_id, 'APP', m.ts_ns, NULL, m.hbm_bytes + coalesce(m.ddr_bytes, 0), NULL
FROM src_NPU_MEM AS m JOIN text_by_id AS t ON t.capture = m.capture AND t.id = m.type WHERE lower(t.value) = 'app'
  AND in_window(m.ts_ns);
