-- Findings about each capture, once all its tables are filled: (capture, severity, key, message).
-- Depends on capture, in_chosen_time, lone_task, memory, odd_value, placed, repeated_task, step_left_out, step_mark,
-- too_long.
-- Nothing without lone_task + memory + odd_value + placed + repeated_task + step_left_out + step_mark + too_long.
SELECT capture, 'warning', 'repeated_rows', repeated || ' kernels, collectives or copies appear more than once in the profile; each is counted once'
FROM repeated_task
UNION ALL
SELECT capture, 'warning', 'damaged_time', 'device tasks far from all others were left out (' || count(*) || '; the farthest is ' || left(arg_max(name, abs(ns)), 80)
       || printf(', %.3f s ', max(abs(ns)) / 1e9) || CASE WHEN arg_max(ns, abs(ns)) < 0 THEN 'before' ELSE 'after' END
       || ' them): the host, which launches them, recorded nothing at that time'
FROM lone_task GROUP BY capture
UNION ALL
SELECT capture, 'warning', 'damaged_time', 'device tasks of an impossible duration were left out (' || count(*) || '; the longest is ' || arg_max(name, ns)
       || printf(', %.3f ms): their stream or group ran other tasks meanwhile, or the recording had ended', max(ns) / 1e6)
FROM too_long WHERE what <> 'host_op' GROUP BY capture
UNION ALL
SELECT capture, 'warning', 'damaged_time', 'operators of an impossible duration were left out (' || count(*) || '; the longest is ' || arg_max(name, ns)
       || printf(', %.3f ms): they go on long after their step has ended', max(ns) / 1e6)
FROM too_long WHERE what = 'host_op' GROUP BY capture
UNION ALL
SELECT capture, 'warning', 'damaged_time', 'step ' || string_agg(step, ', ' ORDER BY step) || ' has several marks that are apart: only one of them counts'
FROM step_mark WHERE marks > 1 GROUP BY capture
UNION ALL
SELECT capture, 'warning', 'damaged_time', 'step ' || string_agg(step, ', ' ORDER BY step) || ': the mark overlaps that of another step and was left out'
FROM step_mark WHERE is_wrong GROUP BY capture
UNION ALL
SELECT capture, 'warning', 'damaged_time', 'step ' || string_agg(step, ', ' ORDER BY step) || ' was left out: without a usable mark, nothing tells what belongs to it'
FROM step_left_out GROUP BY capture
UNION ALL
SELECT p.capture, 'info', 'outside_steps',
       count(*) || CASE WHEN any_value(c.executor) = 'host' THEN ' operators and collectives (' ELSE ' device tasks (' END
       || printf('%.3f', sum(p.end_ns - p.start_ns) / 1e6) || ' ms) are outside all marked steps and are not counted'
FROM placed AS p JOIN capture AS c ON c.capture = p.capture
WHERE p.what <> 'copy' AND p.step IS NULL AND (p.capture, p.what, p.id) NOT IN (SELECT (capture, what, id) FROM in_chosen_time WHERE step IS NOT NULL) GROUP BY p.capture
UNION ALL
SELECT capture, 'warning', 'damaged_value', count(*) || ' values were left out, because no machine can have them: ' || string_agg(DISTINCT name, ', ' ORDER BY name)
FROM odd_value GROUP BY capture
UNION ALL
SELECT capture, 'warning', 'negative_memory', 'memory of ' || string_agg(DISTINCT component, ', ' ORDER BY component) || ' is below 0 in ' || count(*) || ' places (minimum '
       || min(least(allocated_bytes, reserved_bytes, active_bytes)) || ' bytes); these count as not measured'
FROM memory WHERE least(allocated_bytes, reserved_bytes, active_bytes) < 0 GROUP BY capture
UNION ALL
SELECT capture, 'warning', 'unknown_device',
       count(*) || ' collectives have no device, although the process has several: their time is not counted'
FROM placed WHERE what = 'collective' AND device_id IS NULL
  AND capture IN (SELECT capture FROM placed WHERE what = 'kernel' GROUP BY capture HAVING count(DISTINCT device_id) > 1)
GROUP BY capture
ORDER BY 1, 3;
