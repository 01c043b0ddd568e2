-- Properties of the machine from the export: its name, and its GPUs.
-- Variables: capture.
-- Depends on capture, src_TARGET_INFO_GPU, src_TARGET_INFO_SYSTEM_ENV.
UPDATE capture SET host = (SELECT left(min(value), 200) FROM src_TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname' AND value <> '')
WHERE capture = getvariable('capture');
INSERT INTO env
SELECT getvariable('capture'), 'chip', left(string_agg(DISTINCT name, ' | ' ORDER BY name), 200) FROM src_TARGET_INFO_GPU WHERE name <> '' HAVING count(*) > 0;
