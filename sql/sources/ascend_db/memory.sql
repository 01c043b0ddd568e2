-- Memory levels of the framework, of GE and of CANN modules (bytes reserved). If events are not kept,
-- only the lowest and highest levels of slots of 2^20 ns (1 ms) are needed, the first of equal ones: the peaks, and what r_level draws over time.
-- Variables: from_ns, holes, keep_events, until_ns.
-- Depends on in_window, src_ENUM_MODULE, src_MEMORY_RECORD, src_NPU_MEM, src_NPU_MODULE_MEM, text_by_id.
-- Nothing without src_MEMORY_RECORD + src_NPU_MEM + src_NPU_MODULE_MEM, src_MEMORY_RECORD + src_NPU_MODULE_MEM +
-- text_by_id.
INSERT INTO memory
SELECT m.capture, m.device_id, coalesce(c.value, 'unknown'), m.ts_ns, m.allocated_bytes, m.reserved_bytes, m.active_bytes
FROM src_MEMORY_RECORD AS m LEFT JOIN text_by_id AS c ON c.capture = m.capture AND c.id = m.component
WHERE getvariable('keep_events') AND in_window(m.ts_ns);
INSERT INTO memory
WITH record AS MATERIALIZED (
    SELECT *, row_number() OVER () AS id FROM src_MEMORY_RECORD WHERE NOT getvariable('keep_events') AND ts_ns IS NOT NULL AND in_window(ts_ns)
), keyed AS (   -- a level, the time in its slot and the row in one number: the extreme of such numbers is much faster than that of structs
    SELECT * REPLACE (allocated_bytes * 1152921504606846976::HUGEINT AS allocated_bytes, reserved_bytes * 1152921504606846976::HUGEINT AS reserved_bytes,
                      active_bytes * 1152921504606846976::HUGEINT AS active_bytes),
           (ts_ns & 1048575) * 1099511627776 + id AS place
    FROM record
), extreme AS (
    SELECT unnest([
               -max(allocated_bytes - place), min(allocated_bytes + place) FILTER (WHERE allocated_bytes >= 0),
               -max(reserved_bytes - place), min(reserved_bytes + place) FILTER (WHERE reserved_bytes >= 0),
               -max(active_bytes - place)
           ]) AS number
    FROM keyed GROUP BY capture, device_id, component, ts_ns >> 20
), chosen AS MATERIALIZED (
    SELECT * FROM record WHERE id IN (SELECT CAST(number & 1099511627775 AS BIGINT) FROM extreme WHERE number IS NOT NULL)
)
SELECT m.capture, m.device_id, coalesce(c.value, 'unknown'), m.ts_ns, m.allocated_bytes, m.reserved_bytes, m.active_bytes
FROM chosen AS m LEFT JOIN text_by_id AS c ON c.capture = m.capture AND c.id = m.component;
INSERT INTO memory
SELECT m.capture, m.device_id, 'module ' || coalesce(e.name, CAST(m.module AS VARCHAR)), m.ts_ns, NULL, m.reserved_bytes, NULL
FROM src_NPU_MODULE_MEM AS m LEFT JOIN src_ENUM_MODULE AS e ON e.capture = m.capture AND e.id = m.module
WHERE in_window(m.ts_ns);
INSERT INTO memory
SELECT m.capture, m.device_id, 'APP', m.ts_ns, NULL, m.hbm_bytes + coalesce(m.ddr_bytes, 0), NULL
FROM src_NPU_MEM AS m JOIN text_by_id AS t ON t.capture = m.capture AND t.id = m.type WHERE lower(t.value) = 'app'
  AND in_window(m.ts_ns);
