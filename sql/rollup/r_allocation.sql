-- Allocations by operator. Depends on allocation.
INSERT INTO r_allocation
SELECT capture, device_id, name, count(*), sum(size_bytes), max(size_bytes), coalesce(sum(size_bytes) FILTER (release_ns IS NULL), 0)
FROM allocation GROUP BY ALL;
