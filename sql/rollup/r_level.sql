-- Levels of memory and of the clock over time, thinned: the lowest and the highest of each of 60 parts, which consist of
-- slots of 2^20 ns (1 ms), as some sources keep only the extremes of these. A level below 0 counts as not measured.
-- Depends on counter, memory.
-- Nothing without counter + memory.
INSERT INTO r_level
WITH measured AS (
    SELECT capture, device_id, component, ts_ns, unnest([
               {'what': 'allocated', 'value': CAST(allocated_bytes AS DOUBLE)}, {'what': 'reserved', 'value': CAST(reserved_bytes AS DOUBLE)}
           ], recursive := TRUE)
    FROM memory WHERE NOT (starts_with(component, 'module ') OR contains(component, '+'))
    UNION ALL BY NAME
    SELECT capture, device_id, ts_ns, 'clock' AS what, value FROM counter WHERE name = 'aicore_freq_mhz'
), sample AS (
    SELECT * FROM measured WHERE ts_ns IS NOT NULL AND value >= 0 AND isfinite(value)
), span AS (
    SELECT capture, device_id, what, component, min(ts_ns >> 20) AS first_slot, max(ts_ns >> 20) - min(ts_ns >> 20) + 1 AS slots FROM sample GROUP BY ALL
), extreme AS (
    SELECT s.capture, s.device_id, s.what, s.component,
           unnest([{'value': min(s.value), 'ts_ns': arg_min(s.ts_ns, {'value': s.value, 'at': s.ts_ns})},
                   {'value': max(s.value), 'ts_ns': arg_min(s.ts_ns, {'value': -s.value, 'at': s.ts_ns})}], recursive := TRUE)
    FROM sample AS s JOIN span AS p
      ON p.capture = s.capture AND p.what = s.what AND p.device_id IS NOT DISTINCT FROM s.device_id AND p.component IS NOT DISTINCT FROM s.component
    GROUP BY s.capture, s.device_id, s.what, s.component, ((s.ts_ns >> 20) - p.first_slot) * 60 // p.slots
)
SELECT DISTINCT capture, device_id, what, component, ts_ns, value FROM extreme;
