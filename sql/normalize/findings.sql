-- What is odd about this capture once everything has its place: (severity, key, message).
-- Variables: capture, repeated_tasks, steps.
-- Depends on capture, memory, placed.
SELECT 'warning', 'repeated_rows', getvariable('repeated_tasks') || ' kernels, collectives or copies appear more than once in the profile; each is counted once'
WHERE getvariable('repeated_tasks') > 0
UNION ALL
SELECT 'info', 'outside_steps',
       count(*) || CASE WHEN (SELECT executor FROM capture WHERE capture = getvariable('capture')) = 'host' THEN ' operators and collectives ('
                        ELSE ' device tasks (' END || printf('%.3f', sum(end_ns - start_ns) / 1e6) || ' ms) are outside all marked steps and are not counted'
FROM placed
WHERE what <> 'copy' AND step IS NULL AND getvariable('steps') IS NULL HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'negative_memory', 'memory of ' || string_agg(DISTINCT component, ', ') || ' is below 0 in ' || count(*) || ' places (minimum '
       || min(least(allocated_bytes, reserved_bytes, active_bytes)) || ' bytes); these count as not measured'
FROM memory WHERE capture = getvariable('capture') AND least(allocated_bytes, reserved_bytes, active_bytes) < 0 HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'unknown_device', count(*) || ' collectives have no device, although the process has several: their time is not counted'
FROM placed WHERE what = 'collective' AND device_id IS NULL
  AND (SELECT count(DISTINCT device_id) FROM placed WHERE what = 'kernel') > 1 HAVING count(*) > 0;
