-- What the chips of one run can compute at most.
-- Variables: run, side.
-- Depends on c_capture, peak_of.
-- Nothing without c_capture, r_kernel.
CREATE TABLE IF NOT EXISTS c_peak (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    half_flop_per_ns DOUBLE,   -- dense FLOAT16 and BFLOAT16; NULL: unknown
    int8_flop_per_ns DOUBLE    -- dense INT8; NULL: unknown
);
INSERT INTO c_peak
SELECT c.side, c.run, p.*
FROM peak_of('store.r_kernel', 'store.r_counter', 'store.env') AS p
JOIN c_capture AS c ON c.capture = p.capture AND c.side = getvariable('side') AND c.run = getvariable('run');
