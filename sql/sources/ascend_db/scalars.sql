-- Values that later statements use: the captures that are read together, each with the only device of its process (NULL if there are
-- several), and the minor version of the schema, which all these captures share.
-- Variables: captures.
-- Depends on src_META_DATA, src_NPU_INFO, src_RANK_DEVICE_MAP.
SET VARIABLE schema_minor = (SELECT coalesce(max(TRY_CAST(value AS INTEGER)), 0) FROM src_META_DATA WHERE name = 'SCHEMA_VERSION_MINOR');
CREATE OR REPLACE TEMP TABLE db_capture AS
SELECT number AS capture, CASE WHEN count(DISTINCT d.device_id) = 1 THEN min(d.device_id) END AS device_id
FROM (SELECT unnest(getvariable('captures')) AS number) LEFT JOIN (
    SELECT capture, device_id FROM src_RANK_DEVICE_MAP UNION SELECT capture, TRY_CAST(id AS INTEGER) FROM src_NPU_INFO WHERE id >= 0
) AS d ON d.capture = number
GROUP BY number;
