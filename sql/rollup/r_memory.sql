-- Peak memory by component. A level below 0 counts as not measured.
-- Depends on memory.
-- Nothing without memory.
INSERT INTO r_memory
SELECT capture, device_id, component, max(allocated_bytes) FILTER (allocated_bytes >= 0), max(reserved_bytes) FILTER (reserved_bytes >= 0),
       max(active_bytes) FILTER (active_bytes >= 0)
FROM memory GROUP BY ALL;
