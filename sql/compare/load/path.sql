-- The account of the critical path of one run, in the selected steps. A path over some of the ranks that communicate is none, so that there are no
-- rows if ranks were selected, or one that communicates was left out.
-- Variables: ranks (empty: all), run, side.
-- Depends on c_step, c_unmarked, r_collective, r_path.
-- Nothing without c_step, r_path.
CREATE TABLE IF NOT EXISTS c_path (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    step BIGINT NOT NULL,
    phase VARCHAR,
    kind VARCHAR NOT NULL,
    subject VARCHAR,          -- NULL: none
    op_type VARCHAR,          -- NULL: unknown, or no kernel
    host_op VARCHAR,          -- the framework operator that launched the kernel; NULL: unknown, or no kernel
    core_type VARCHAR,        -- NULL: unknown, or no kernel
    input_dtypes VARCHAR,     -- NULL: unknown, or no kernel
    pieces BIGINT NOT NULL,
    ns BIGINT NOT NULL
);
INSERT INTO c_path
SELECT getvariable('side'), getvariable('run'), capture, step, phase, kind, subject, op_type, host_op, core_type, input_dtypes, pieces, ns
FROM store.r_path
WHERE step IN (SELECT step FROM c_step WHERE selected AND side = getvariable('side') AND run = getvariable('run'))
  AND len(getvariable('ranks')) = 0
  AND NOT EXISTS (FROM c_unmarked WHERE side = getvariable('side') AND run = getvariable('run') AND capture IN (SELECT capture FROM store.r_collective));
