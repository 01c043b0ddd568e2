-- Changes of memory ([memory] events, recorded with profile_memory): the level after each change, and one allocation per allocated address,
-- with the operator that asked for it. Traces of 2021 have neither levels nor addresses, and give no rows. On a device (any type but 0),
-- the level is that of the framework's pool, named PTA as on Ascend.
-- Variables: capture.
-- Depends on sound_size, stage_host_op, trace_event, trace_inside.
CREATE OR REPLACE TEMP TABLE trace_memory AS
SELECT m.id, m.thread, m.start_ns AS ns, a."Device Type" <> 0 AS on_device, CASE WHEN a."Device Type" <> 0 THEN a."Device Id" END AS device_id,
       sound_size(a."Total Allocated") AS allocated_bytes, sound_size(a."Total Reserved") AS reserved_bytes, sound_size(a.Bytes) AS bytes, a.Addr AS address
FROM (SELECT *, json_transform(args, '{"Device Type": "BIGINT", "Device Id": "INTEGER", "Total Allocated": "BIGINT", "Total Reserved": "BIGINT",
                                       "Bytes": "BIGINT", "Addr": "UBIGINT"}') AS a
      FROM trace_event WHERE ph = 'i' AND sound) AS m
WHERE a."Device Type" IS NOT NULL;
INSERT INTO memory
SELECT getvariable('capture'), device_id, CASE WHEN on_device THEN 'PTA' ELSE 'CPU' END, ns, allocated_bytes, CASE WHEN on_device THEN reserved_bytes END, NULL
FROM trace_memory WHERE allocated_bytes > 0;
INSERT INTO allocation
WITH change AS (
    SELECT *, lead(bytes) OVER address AS next_bytes, lead(ns) OVER address AS next_ns
    FROM trace_memory WHERE address IS NOT NULL AND bytes <> 0
    WINDOW address AS (PARTITION BY on_device, device_id, address ORDER BY ns, id)
)
SELECT getvariable('capture'), c.device_id, o.name, c.bytes, c.ns, CASE WHEN c.next_bytes < 0 THEN c.next_ns END, CASE WHEN c.next_bytes < 0 THEN c.next_ns - c.ns END
FROM change AS c
LEFT JOIN trace_inside AS i ON i.thread = c.thread AND i.ns = c.ns
LEFT JOIN stage_host_op AS o ON o.capture = getvariable('capture') AND o.id = i.host_op_id
WHERE c.bytes > 0;
