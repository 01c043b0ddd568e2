-- The chips of the capture.
-- Variables: capture.
-- Depends on src_NPU_INFO.
INSERT INTO env
SELECT getvariable('capture'), 'chip', left(string_agg(DISTINCT name, ',' ORDER BY name), 200)
FROM src_NPU_INFO WHERE id >= 0 AND name IS NOT NULL HAVING count(*) > 0;
