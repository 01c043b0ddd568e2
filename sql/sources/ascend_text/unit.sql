-- What the AI Core counters of kernel_details.csv and l2_cache.csv tell of each kernel.
-- Variables: capture.
-- Depends on text_kernel, text_l2.
INSERT INTO stage_unit
SELECT getvariable('capture'), k.id, k.cube_ratio, k.load_ratio,
       coalesce(l.hit_rate, k.l2_hits / nullif(k.l2_hits + coalesce(k.l2_misses, 0), 0), CASE WHEN k.l2_misses > 0 THEN 0 END)
FROM text_kernel AS k LEFT JOIN text_l2 AS l ON l.id = k.id
WHERE NOT k.is_comm AND coalesce(k.cube_ratio, k.load_ratio, l.hit_rate, k.l2_hits, k.l2_misses) IS NOT NULL;
