-- Single values that statements below refer to: the schema's minor version, and the only device of the process (NULL if there are several).
-- Depends on src_META_DATA, src_NPU_INFO, src_RANK_DEVICE_MAP.
SET VARIABLE schema_minor = (SELECT coalesce(max(TRY_CAST(value AS INTEGER)), 0) FROM src_META_DATA WHERE name = 'SCHEMA_VERSION_MINOR');
SET VARIABLE only_device = (
    SELECT CASE WHEN count(DISTINCT device_id) = 1 THEN min(device_id) END
    FROM (SELECT device_id FROM src_RANK_DEVICE_MAP UNION SELECT TRY_CAST(id AS INTEGER) FROM src_NPU_INFO WHERE id >= 0) WHERE device_id IS NOT NULL
);
