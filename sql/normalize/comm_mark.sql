-- Collectives from mstx marks, for captures that list no collectives. Such a mark is named comm:<call>,<group>,<data type>,<count>. Its
-- range on the device is the collective. Its range on the host is only the call, and stays in "range".
-- Depends on dtype_bytes, range, stage_collective.
-- Nothing without range.
INSERT INTO stage_collective BY NAME
SELECT capture, row_number() OVER (PARTITION BY capture ORDER BY start_ns, name) AS id, split_part(name, ',', 1) AS name,
       nullif(split_part(name, ',', 2), '') AS group_name, start_ns, end_ns,
       TRY_CAST(split_part(name, ',', 4) AS BIGINT) * dtype_bytes(split_part(name, ',', 3)) AS size_bytes,
       upper(nullif(split_part(name, ',', 3), '')) AS dtype
FROM (
    SELECT capture, substr(name, 6) AS name, start_ns, end_ns FROM "range"
    WHERE side = 'device' AND kind = 'range' AND starts_with(name, 'comm:')
) WHERE capture NOT IN (SELECT capture FROM stage_collective);
