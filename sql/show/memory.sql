-- Peak memory by component, over all ranks.
-- Depends on r_memory.
SELECT component, max(peak_allocated_bytes) / 1048576.0 AS peak_allocated_mib, max(peak_reserved_bytes) / 1048576.0 AS peak_reserved_mib,
       max(peak_active_bytes) / 1048576.0 AS peak_active_mib
FROM r_memory GROUP BY component ORDER BY greatest(peak_reserved_mib, peak_allocated_mib) DESC NULLS LAST, component LIMIT 10;
