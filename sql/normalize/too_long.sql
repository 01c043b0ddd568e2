-- Removes tasks whose duration must be damaged; it would fill a step that the device spent otherwise. A stream runs one task at a time, and a
-- group one collective: a task that wholly contains the next two is damaged, unless more than one in a hundred do so, as parts of a task may.
-- But sends and receives of several pairs of ranks overlap, and copies of both directions share a stream on AMD's devices. A task is also damaged if it
-- goes on, after all that was recorded, for more than a second and for longer than the whole recording, if the host, which waits for it, was
-- recorded too. An operator is damaged if it goes on after the end of its step for more than a second and for longer than all steps; in a trace
-- of the host alone, where operators of tensors are the tasks, for longer than the step took.
-- The table too_long keeps what was removed, for the finding.
-- Depends on capture, collective_kind, device_window, host_api, stage_collective, stage_copy, stage_host_op,
-- stage_kernel, stage_phase, stage_step, step_mark.
-- Nothing without capture + stage_collective + stage_copy + stage_kernel, stage_collective + stage_copy + stage_host_op
-- + stage_kernel, stage_collective + stage_copy + stage_kernel + step_mark.
-- Runs after lone_task, once.
CREATE OR REPLACE TEMP TABLE too_long AS
WITH task AS (
    SELECT capture, 'kernel' AS what, rowid AS number, device_id, stream AS line, start_ns, end_ns FROM stage_kernel
    UNION ALL SELECT capture, 'copy', rowid, device_id, CASE WHEN stream IS NOT NULL THEN hash(stream, kind) END, start_ns, end_ns FROM stage_copy
    UNION ALL
    SELECT capture, 'collective', rowid, device_id,
           CASE WHEN group_name IS NOT NULL AND collective_kind(op_type, name) NOT IN ('send', 'recv', 'batch_send_recv') THEN hash(group_name) END,
           start_ns, end_ns
    FROM stage_collective
), around AS (
    SELECT *, lead(end_ns, 2) OVER (PARTITION BY capture, what, device_id, line ORDER BY start_ns, end_ns DESC, number) <= end_ns AND line IS NOT NULL AS contains_two
    FROM task WHERE end_ns > start_ns
), host AS (
    SELECT capture, start_ns, end_ns FROM stage_host_op UNION ALL SELECT capture, start_ns, end_ns FROM stage_step
    UNION ALL SELECT capture, start_ns, end_ns FROM stage_phase UNION ALL SELECT capture, start_ns, end_ns FROM host_api
), recorded AS (
    SELECT capture, min(start_ns) AS first_ns, max(start_ns) AS last_ns FROM task GROUP BY capture
), host_recorded AS (
    SELECT capture, min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM host WHERE start_ns IS NOT NULL GROUP BY capture
), extent AS (
    SELECT capture, least(r.first_ns, h.first_ns) AS first_ns, greatest(r.last_ns, h.last_ns) AS last_ns FROM recorded AS r JOIN host_recorded AS h USING (capture)
), counted AS (
    SELECT capture, what, device_id, line, count_if(contains_two) * 100 <= count(*) + 99 AS is_rare FROM around GROUP BY ALL HAVING bool_or(contains_two)
), host_step AS (
    SELECT s.capture, s.start_ns, s.end_ns, max(s.end_ns) OVER (PARTITION BY s.capture) - min(s.start_ns) OVER (PARTITION BY s.capture) AS all_ns, c.executor
    FROM step_mark AS s JOIN capture AS c ON c.capture = s.capture WHERE NOT s.is_wrong
), damaged_from AS (   -- a damaged operator is longer than this; a join, as ASOF joins sort all rows
    SELECT capture, min(least(greatest(all_ns, 1000000000), CASE WHEN executor = 'host' THEN end_ns - start_ns END)) AS ns FROM host_step GROUP BY capture
), long_operator AS (
    SELECT o.capture, o.rowid AS number, o.start_ns, o.end_ns, o.name
    FROM stage_host_op AS o JOIN damaged_from AS d ON d.capture = o.capture WHERE o.end_ns - o.start_ns > d.ns
)
SELECT a.capture, a.what, a.number, a.end_ns - a.start_ns AS ns, coalesce(k.name, o.name, 'a ' || a.what) AS name
FROM around AS a
LEFT JOIN extent AS e USING (capture)
LEFT JOIN counted AS c ON c.capture = a.capture AND c.what = a.what AND c.device_id IS NOT DISTINCT FROM a.device_id AND c.line = a.line
LEFT JOIN stage_kernel AS k ON k.rowid = CASE WHEN a.what = 'kernel' THEN a.number END   -- a hash join: many may be too long
LEFT JOIN stage_collective AS o ON o.rowid = CASE WHEN a.what = 'collective' THEN a.number END
WHERE coalesce(a.contains_two AND c.is_rare, FALSE) OR coalesce(a.end_ns - e.last_ns > greatest(e.last_ns - e.first_ns, 1000000000), FALSE)
UNION ALL
SELECT o.capture, 'host_op', o.number, o.end_ns - o.start_ns, coalesce(o.name, 'an operator')
FROM long_operator AS o ASOF JOIN host_step AS s ON s.capture = o.capture AND o.start_ns >= s.start_ns
WHERE o.start_ns <= s.end_ns
  AND o.end_ns - s.end_ns > CASE WHEN s.executor = 'host' AND starts_with(o.name, 'aten::') THEN s.end_ns - s.start_ns ELSE greatest(s.all_ns, 1000000000) END;
DELETE FROM stage_kernel WHERE rowid IN (SELECT number FROM too_long WHERE what = 'kernel');
DELETE FROM stage_copy WHERE rowid IN (SELECT number FROM too_long WHERE what = 'copy');
DELETE FROM stage_collective WHERE rowid IN (SELECT number FROM too_long WHERE what = 'collective');
DELETE FROM stage_host_op WHERE rowid IN (SELECT number FROM too_long WHERE what = 'host_op');
UPDATE device_window SET first_ns = NULL, last_ns = NULL WHERE capture IN (SELECT capture FROM too_long WHERE what <> 'host_op');
