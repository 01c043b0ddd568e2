-- Allocations by operator and by the step in which they were made.
-- Depends on allocation, place.
-- Nothing without allocation.
INSERT INTO r_allocation
WITH stepped AS (   -- an allocation without a time gets a step only if the capture is one step
    SELECT a.*, p.step
    FROM allocation AS a ASOF LEFT JOIN place AS p ON p.capture = a.capture AND coalesce(a.alloc_ns, -9223372036854775807) >= p.from_ns
)
SELECT capture, device_id, step, name, count(*), sum(size_bytes), max(size_bytes), coalesce(sum(size_bytes) FILTER (release_ns IS NULL), 0)
FROM stepped GROUP BY ALL;
