-- Removes tasks whose time must be damaged; all between them and the others would be a wait of the device. A task is alone if it begins before
-- (after) all else that was recorded, on the device and on the host, by more than a second and by more than all else lasts. At most one task in a hundred
-- may be so on each side: more are work of their own. After a long wait a sound task may be alone too, but not for the host, which launched it: only
-- in captures that recorded the launches of these tasks, or when the session began and ended, and whose host has the clock of the device. The
-- table lone_task keeps what was removed, for the finding.
-- Depends on capture, device_window, host_api, stage_collective, stage_copy, stage_host_op, stage_kernel, stage_phase,
-- stage_step.
-- Nothing without capture.
-- Runs after once.
CREATE OR REPLACE TEMP TABLE lone_task AS
WITH task AS (
    SELECT capture, 'kernel' AS what, rowid AS number, name, start_ns, end_ns, coalesce(launch_ns, host_op_ns) AS launch_ns FROM stage_kernel
    UNION ALL SELECT capture, 'copy', rowid, NULL, start_ns, end_ns, coalesce(launch_ns, host_op_ns) FROM stage_copy
    UNION ALL SELECT capture, 'collective', rowid, name, start_ns, end_ns, coalesce(launch_ns, host_op_ns) FROM stage_collective
), spread AS (   -- for speed: the captures of which a hundredth may be alone
    SELECT capture, tasks, (tasks + 99) // 100 AS few
    FROM (
        SELECT capture, count(*) AS tasks, min(start_ns) AS first_ns, max(start_ns) AS last_ns, quantile_disc(start_ns, [0.02, 0.98]) AS most
        FROM task WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL GROUP BY capture
    )
    WHERE greatest(most[1] - first_ns, last_ns - most[2]) > greatest(most[2] - most[1], 1000000000) OR (tasks <= 1000 AND last_ns - first_ns > 1000000000)
), host AS (
    SELECT capture, start_ns, end_ns FROM stage_host_op UNION ALL SELECT capture, start_ns, end_ns FROM stage_step
    UNION ALL SELECT capture, start_ns, end_ns FROM stage_phase UNION ALL SELECT capture, start_ns, end_ns FROM host_api
    UNION ALL SELECT capture, launch_ns, launch_ns FROM task
    UNION ALL SELECT capture, host_start_ns, host_end_ns FROM capture WHERE host_end_ns IS NOT NULL
), recorded AS (
    SELECT h.capture, min(h.start_ns) AS first_ns, max(h.end_ns) AS last_ns
    FROM host AS h SEMI JOIN spread USING (capture) WHERE h.start_ns IS NOT NULL GROUP BY h.capture
), placed_task AS (
    SELECT t.*, s.tasks, s.few, row_number() OVER earlier AS place, lead(t.start_ns) OVER earlier AS next_ns,
           max(t.end_ns) OVER (PARTITION BY t.capture ORDER BY t.start_ns, t.end_ns, t.what, t.number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until_ns,
           count_if(t.launch_ns IS NULL) OVER kind * 100 <= count(*) OVER kind + 99 OR c.host_end_ns IS NOT NULL AS would_be_known
    FROM task AS t JOIN spread AS s ON s.capture = t.capture JOIN capture AS c ON c.capture = t.capture
    WHERE t.start_ns IS NOT NULL AND t.end_ns IS NOT NULL
    WINDOW earlier AS (PARTITION BY t.capture ORDER BY t.start_ns, t.end_ns, t.what, t.number), kind AS (PARTITION BY t.capture, t.what)
), most AS (
    SELECT capture, min(start_ns) FILTER (place >= least(few + 1, tasks - few)) AS first_ns,
           max(end_ns) FILTER (place <= greatest(few + 1, tasks - few)) AS last_ns
    FROM placed_task GROUP BY capture
), apart AS (
    SELECT t.*, place <= few AND least(next_ns, r.first_ns) - t.start_ns > greatest(m.last_ns - next_ns, r.last_ns - r.first_ns, 1000000000) AS is_before,
           place > tasks - few AND t.start_ns - greatest(until_ns, r.last_ns) > greatest(until_ns - m.first_ns, r.last_ns - r.first_ns, 1000000000) AS is_after
    FROM placed_task AS t JOIN most AS m ON m.capture = t.capture JOIN recorded AS r ON r.capture = t.capture
    WHERE m.first_ns <= r.last_ns AND r.first_ns <= m.last_ns
), edge AS (
    SELECT capture, max(place) FILTER (is_before) AS before_place, min(place) FILTER (is_after) AS after_place,
           arg_max(next_ns, place) FILTER (is_before) AS first_ns, arg_min(until_ns, place) FILTER (is_after) AS last_ns
    FROM apart GROUP BY capture HAVING bool_or(is_before OR is_after)
)
SELECT a.capture, a.what, a.number, coalesce(a.name, 'a ' || a.what) AS name,
       CASE WHEN a.place <= e.before_place THEN a.start_ns - e.first_ns ELSE a.start_ns - e.last_ns END AS ns
FROM apart AS a JOIN edge AS e ON e.capture = a.capture
WHERE a.would_be_known AND (coalesce(a.place <= e.before_place, FALSE) OR coalesce(a.place >= e.after_place, FALSE));
DELETE FROM stage_kernel WHERE rowid IN (SELECT number FROM lone_task WHERE what = 'kernel');
DELETE FROM stage_copy WHERE rowid IN (SELECT number FROM lone_task WHERE what = 'copy');
DELETE FROM stage_collective WHERE rowid IN (SELECT number FROM lone_task WHERE what = 'collective');
UPDATE device_window SET first_ns = NULL, last_ns = NULL WHERE capture IN (SELECT capture FROM lone_task);
