-- Peak memory of one run: the highest device of each capture. Not by step.
-- Variables: run, side.
-- Depends on c_capture, r_memory.
-- Nothing without c_capture, r_memory.
CREATE TABLE IF NOT EXISTS c_memory (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    component VARCHAR NOT NULL,
    allocated_bytes BIGINT,
    reserved_bytes BIGINT,
    active_bytes BIGINT
);
INSERT INTO c_memory
SELECT c.side, c.run, c.capture, r.component, max(r.peak_allocated_bytes), max(r.peak_reserved_bytes), max(r.peak_active_bytes)
FROM store.r_memory AS r
JOIN c_capture AS c ON c.capture = r.capture AND c.side = getvariable('side') AND c.run = getvariable('run')
GROUP BY ALL;
