-- The chips of the capture.
-- Depends on src_NPU_INFO.
-- Nothing without src_NPU_INFO.
INSERT INTO env
SELECT capture, 'chip', left(string_agg(DISTINCT name, ',' ORDER BY name), 200)
FROM src_NPU_INFO WHERE id >= 0 AND name IS NOT NULL GROUP BY capture;
