-- Step times of one run as the profiler reported them, beside ours (any device, selected steps). A row without a step belongs to the only
-- step of its capture.
-- Variables: run, side.
-- Depends on c_step, r_time, reported_step_time, step.
-- Nothing without c_step, r_time, reported_step_time.
CREATE TABLE IF NOT EXISTS c_reported (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    step BIGINT NOT NULL,
    what VARCHAR NOT NULL,    -- computation | communication | exposed communication | free
    reported_ns BIGINT NOT NULL,
    ours_ns BIGINT NOT NULL
);
INSERT INTO c_reported
WITH only_step AS (
    SELECT capture, min(step) AS step FROM store.step GROUP BY capture HAVING count(*) = 1
), pair AS (
    SELECT s.side, s.run, s.capture, s.step, p.compute_ns AS p_compute, p.comm_ns AS p_comm, p.exposed_comm_ns AS p_exposed,
           p.free_ns AS p_free, t.compute_ns, t.comm_ns, t.exposed_comm_ns, t.free_ns
    FROM store.reported_step_time AS p
    LEFT JOIN only_step AS o ON o.capture = p.capture
    JOIN c_step AS s ON s.capture = p.capture AND s.step = coalesce(p.step, o.step) AND s.selected
     AND s.side = getvariable('side') AND s.run = getvariable('run')
    JOIN store.r_time AS t ON t.capture = s.capture AND t.step = s.step
     AND (t.device_id = p.device_id OR t.device_id IS NULL OR p.device_id IS NULL)
)
FROM (
    SELECT side, run, capture, step, 'computation' AS what, p_compute AS reported_ns, compute_ns AS ours_ns FROM pair
    UNION ALL SELECT side, run, capture, step, 'communication', p_comm, comm_ns FROM pair
    UNION ALL SELECT side, run, capture, step, 'exposed communication', p_exposed, exposed_comm_ns FROM pair
    UNION ALL SELECT side, run, capture, step, 'free', p_free, free_ns FROM pair
) WHERE reported_ns IS NOT NULL AND ours_ns IS NOT NULL;
