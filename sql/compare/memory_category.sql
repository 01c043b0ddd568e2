-- Memory by category of tensor per run: the peak of the fullest rank, and the mean over captures. Unused categories are left out.
-- Depends on c_memory_category.
-- Nothing without c_memory_category.
SELECT side, run, category, max(peak_bytes) AS peak_bytes, avg(mean_bytes) AS mean_bytes
FROM c_memory_category
WHERE category IN (SELECT category FROM c_memory_category WHERE peak_bytes > 0)
GROUP BY ALL ORDER BY category, side, run;
