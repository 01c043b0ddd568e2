-- Exported call stacks of one run, whole captures.
-- Variables: run, side.
-- Depends on c_capture, r_stack.
-- Nothing without c_capture, r_stack.
CREATE TABLE IF NOT EXISTS c_stack (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    frame VARCHAR NOT NULL,
    callers VARCHAR NOT NULL,
    calls BIGINT NOT NULL,
    self_ns BIGINT NOT NULL
);
INSERT INTO c_stack
SELECT c.side, c.run, c.capture, r.frame, r.callers, r.operators, r.self_ns
FROM store.r_stack AS r
JOIN c_capture AS c ON c.capture = r.capture AND c.side = getvariable('side') AND c.run = getvariable('run');
