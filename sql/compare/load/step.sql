-- Steps of the captures of one run, selected or not.
-- Variables: run, side, steps (empty: all).
-- Depends on c_capture, capture, step.
-- Nothing without c_capture, capture, step.
CREATE TABLE IF NOT EXISTS c_step (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    step BIGINT NOT NULL,
    wall_ns BIGINT,           -- host time; NULL where steps are not marked
    inferred BOOLEAN NOT NULL,
    is_one BOOLEAN NOT NULL,  -- it is known to be one step: a source or a folder names it
    selected BOOLEAN NOT NULL
);
INSERT INTO c_step
SELECT c.side, c.run, c.capture, s.step, s.end_ns - s.start_ns, s.inferred, NOT s.inferred OR coalesce(p.step_hint, p.step_place) IS NOT NULL,
       len(getvariable('steps')) = 0 OR list_contains(getvariable('steps'), s.step)
FROM store.step AS s JOIN store.capture AS p ON p.capture = s.capture JOIN c_capture AS c ON c.capture = s.capture AND c.side = getvariable('side') AND c.run = getvariable('run');
