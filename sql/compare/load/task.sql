-- Tasks of collectives of one run, summed over the selected steps.
-- Variables: run, side.
-- Depends on c_step, r_collective_task.
-- Nothing without c_step, r_collective_task.
CREATE TABLE IF NOT EXISTS c_task (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    kind VARCHAR NOT NULL,    -- of the collective
    name VARCHAR,             -- of the task
    calls BIGINT,
    sum_ns BIGINT,
    size_bytes BIGINT
);
INSERT INTO c_task
SELECT s.side, s.run, s.capture, r.kind, r.name, sum(r.calls), sum(r.sum_ns), sum(r.size_bytes)
FROM store.r_collective_task AS r
JOIN c_step AS s ON s.capture = r.capture AND s.step = r.step AND s.selected
 AND s.side = getvariable('side') AND s.run = getvariable('run')
GROUP BY ALL;
