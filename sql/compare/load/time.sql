-- Times of one run: per capture and selected step, the times of the slowest device (the largest device span). It represents the rank in
-- every device table. A step in which the device did nothing counts 0 for each time that the capture has in another step. All wall time of such a
-- step is preparing time, so that preparing, span and tail sum to the step.
-- Variables: run, side.
-- Depends on c_step, r_time.
-- Nothing without c_step.
CREATE TABLE IF NOT EXISTS c_time (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    device_id INTEGER,        -- the slowest device
    step BIGINT NOT NULL,
    compute_ns BIGINT,        -- this and all columns below: as in r_time
    comm_ns BIGINT,
    exposed_comm_ns BIGINT,
    overlapped_comm_ns BIGINT,
    device_span_ns BIGINT,
    free_ns BIGINT,
    exposed_copy_ns BIGINT,
    idle_ns BIGINT,
    bubble_ns BIGINT,
    stage_ns BIGINT,
    p2p_ns BIGINT,
    step_ns BIGINT,
    preparing_ns BIGINT,
    tail_ns BIGINT
);
INSERT INTO c_time
WITH slowest AS (
    SELECT * FROM store.r_time
    QUALIFY row_number() OVER (
        PARTITION BY capture, step ORDER BY device_span_ns DESC NULLS LAST, comm_ns DESC NULLS LAST, device_id
    ) = 1
), recorded AS (
    SELECT capture, CASE WHEN count(compute_ns) > 0 THEN CAST(0 AS BIGINT) END AS nothing,
           CASE WHEN count(comm_ns) > 0 THEN CAST(0 AS BIGINT) END AS no_comm,
           CASE WHEN count(exposed_copy_ns) > 0 THEN CAST(0 AS BIGINT) END AS no_copy,
           CASE WHEN count(bubble_ns) > 0 THEN CAST(0 AS BIGINT) END AS no_bubble
    FROM store.r_time GROUP BY capture
)
SELECT s.side, s.run, s.capture, t.device_id, s.step,
       coalesce(t.compute_ns, r.nothing), coalesce(t.comm_ns, r.no_comm), coalesce(t.exposed_comm_ns, r.nothing),
       coalesce(t.overlapped_comm_ns, r.nothing), coalesce(t.device_span_ns, r.nothing), coalesce(t.free_ns, r.nothing),
       coalesce(t.exposed_copy_ns, r.no_copy), coalesce(t.idle_ns, r.no_copy), coalesce(t.bubble_ns, r.no_bubble),
       coalesce(t.stage_ns, r.no_bubble), coalesce(t.p2p_ns, r.no_comm), s.wall_ns, coalesce(t.preparing_ns, s.wall_ns + r.nothing),
       coalesce(t.tail_ns, CASE WHEN s.wall_ns IS NOT NULL THEN r.nothing END)
FROM c_step AS s
LEFT JOIN slowest AS t ON t.capture = s.capture AND t.step = s.step
LEFT JOIN recorded AS r ON r.capture = s.capture AND t.capture IS NULL
WHERE s.selected AND s.side = getvariable('side') AND s.run = getvariable('run');
