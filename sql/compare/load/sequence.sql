-- Sequences of operators of one run. Equal ones are kept once; those of steps that were not selected are left out.
-- Variables: run, side.
-- Depends on c_step, r_sequence.
-- Nothing without r_sequence.
CREATE TABLE IF NOT EXISTS c_sequence (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    hash UBIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS c_sequence_text (
    hash UBIGINT NOT NULL,
    kinds VARCHAR[] NOT NULL,
    names VARCHAR[] NOT NULL,
    depths INTEGER[] NOT NULL,
    tokens INTEGER[] NOT NULL
);
INSERT INTO c_sequence
SELECT DISTINCT s.side, s.run, s.capture, r.hash
FROM store.r_sequence AS r
JOIN c_step AS s ON s.capture = r.capture AND list_contains(r.steps, s.step) AND s.selected
 AND s.side = getvariable('side') AND s.run = getvariable('run');
INSERT INTO c_sequence_text
SELECT DISTINCT ON (r.hash) r.hash, r.kinds, r.names, r.depths, r.tokens
FROM store.r_sequence AS r
WHERE r.hash IN (SELECT hash FROM c_sequence WHERE side = getvariable('side') AND run = getvariable('run'))
  AND r.hash NOT IN (SELECT hash FROM c_sequence_text);
