-- Highest level by component.
-- Depends on memory.
INSERT INTO r_memory
SELECT capture, device_id, component, max(allocated_bytes), max(reserved_bytes), max(active_bytes) FROM memory GROUP BY ALL;
