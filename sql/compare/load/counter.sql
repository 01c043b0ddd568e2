-- Sampled device counters of one run.
-- Variables: run, side.
-- Depends on c_capture, r_counter.
-- Nothing without c_capture, r_counter.
CREATE TABLE IF NOT EXISTS c_counter (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    device_id INTEGER,
    name VARCHAR NOT NULL,
    mean DOUBLE,
    min DOUBLE,
    max DOUBLE
);
INSERT INTO c_counter
SELECT c.side, c.run, c.capture, r.device_id, r.name, r.mean, r.min, r.max
FROM store.r_counter AS r
JOIN c_capture AS c ON c.capture = r.capture AND c.side = getvariable('side') AND c.run = getvariable('run');
