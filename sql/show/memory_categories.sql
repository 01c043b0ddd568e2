-- Memory by category of tensor, from export_memory_timeline: the peak of the fullest rank, and the mean over ranks.
-- Depends on memory_category.
SELECT category, max(peak_bytes) / 1048576.0 AS peak_mib, avg(mean_bytes) / 1048576.0 AS mean_mib
FROM memory_category GROUP BY category HAVING max(peak_bytes) > 0 ORDER BY peak_mib DESC, category;
