-- Allocations by operator and step: the host's step in which they were made. Depends on allocation, step.
INSERT INTO r_allocation
WITH marked AS (
    SELECT capture, step, start_ns AS step_start_ns, end_ns AS step_end_ns FROM step WHERE start_ns IS NOT NULL
), stepped AS (
    SELECT a.*, coalesce(o.step, CASE WHEN a.alloc_ns <= m.step_end_ns THEN m.step END) AS step
    FROM allocation AS a ASOF LEFT JOIN marked AS m ON m.capture = a.capture AND a.alloc_ns >= m.step_start_ns
    LEFT JOIN step AS o ON o.capture = a.capture AND o.inferred
)
SELECT capture, device_id, step, name, count(*), sum(size_bytes), max(size_bytes), coalesce(sum(size_bytes) FILTER (release_ns IS NULL), 0)
FROM stepped GROUP BY ALL;
