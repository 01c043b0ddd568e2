-- How the selected steps of one run begin on each rank, whether or not the critical path leads over it: the two kinds of time that occur on the path
-- alone. Only the first of several steps that overlap between ranks begins late: the path leads through all of them (store/path_piece.sql).
-- Variables: run, side.
-- Depends on c_capture, c_step, r_collective, r_window.
-- Nothing without c_capture, c_step, r_collective, r_window.
CREATE TABLE IF NOT EXISTS c_step_start (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    step BIGINT NOT NULL,
    kind VARCHAR NOT NULL,    -- late start | between steps
    ns BIGINT NOT NULL        -- delay behind the first rank, by aligned clocks; time since the last step
);
INSERT INTO c_step_start
WITH timed AS (
    SELECT c.role, c.folder, coalesce(c.replica, -1) AS replica, c.ordinal, w.capture, w.step, min(w.from_ns) - coalesce(min(c.ahead_ns), 0) AS from_ns,
           max(w.until_ns) - coalesce(min(c.ahead_ns), 0) AS until_ns
    FROM store.r_window AS w JOIN c_capture AS c ON c.capture = w.capture AND c.side = getvariable('side') AND c.run = getvariable('run')
    WHERE w.capture IN (SELECT capture FROM store.r_collective) GROUP BY ALL
), begun AS (
    SELECT role, folder, replica, ordinal, step, min(from_ns) AS from_ns, max(until_ns) AS until_ns FROM timed GROUP BY ALL
), first AS (
    FROM begun
    QUALIFY coalesce(from_ns >= max(until_ns) OVER (PARTITION BY role, folder, replica, ordinal ORDER BY from_ns, step
                                                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), TRUE)
), found AS (
    SELECT t.capture, t.step, 'late start' AS kind, t.from_ns - f.from_ns AS ns FROM timed AS t JOIN first AS f USING (role, folder, replica, ordinal, step)
    UNION ALL
    SELECT capture, step, 'between steps', from_ns - lag(until_ns) OVER (PARTITION BY capture ORDER BY from_ns, step) FROM timed
)
SELECT s.side, s.run, f.capture, f.step, f.kind, f.ns
FROM found AS f JOIN c_step AS s ON s.capture = f.capture AND s.step = f.step AND s.selected AND s.side = getvariable('side') AND s.run = getvariable('run')
WHERE f.ns > 0;
