-- Phases of one run in each of the selected steps, slowest device only.
-- Variables: run, side.
-- Depends on c_time, r_phase.
-- Nothing without c_time, r_phase.
CREATE TABLE IF NOT EXISTS c_phase (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    step BIGINT NOT NULL,
    phase VARCHAR NOT NULL,   -- name of the phase, or '(outside)'
    role VARCHAR,
    by_user BOOLEAN NOT NULL, -- TRUE: a range of the user's own
    wall_ns BIGINT,           -- NULL: unknown, here and below
    calls BIGINT,
    compute_ns BIGINT,
    exposed_comm_ns BIGINT,
    free_ns BIGINT
);
INSERT INTO c_phase
SELECT t.side, t.run, t.capture, t.step, p.phase, p.role, p.by_user, sum(p.wall_ns), sum(p.calls), sum(p.compute_ns), sum(p.exposed_comm_ns),
       sum(p.free_ns)
FROM store.r_phase AS p
JOIN c_time AS t ON t.capture = p.capture AND t.step = p.step AND t.device_id IS NOT DISTINCT FROM p.device_id
 AND t.side = getvariable('side') AND t.run = getvariable('run')
GROUP BY ALL;
