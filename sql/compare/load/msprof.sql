-- The tables of `msprof-analyze compare` of one run.
-- Variables: run, side.
-- Depends on c_capture, r_msprof.
-- Nothing without c_capture, r_msprof.
CREATE TABLE IF NOT EXISTS c_msprof (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    sheet VARCHAR NOT NULL,
    ord INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    name VARCHAR,
    group_key VARCHAR,        -- rows of communication groups: the key that matches them
    input_shapes VARCHAR,
    total_ns DOUBLE,
    calls BIGINT
);
INSERT INTO c_msprof
SELECT c.side, c.run, c.capture, r.sheet, r.ord, r.depth, r.name, r.group_key, r.input_shapes, r.total_ns, r.calls
FROM store.r_msprof AS r
JOIN c_capture AS c ON c.capture = r.capture AND c.side = getvariable('side') AND c.run = getvariable('run');
