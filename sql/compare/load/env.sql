-- Versions and settings of one run.
-- Variables: run, side.
-- Depends on c_capture, env.
-- Nothing without env.
CREATE TABLE IF NOT EXISTS c_env (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    key VARCHAR NOT NULL,
    value VARCHAR NOT NULL
);
INSERT INTO c_env
SELECT DISTINCT getvariable('side'), getvariable('run'), e.key, e.value
FROM store.env AS e
WHERE e.capture IS NULL
   OR e.capture IN (SELECT capture FROM c_capture WHERE side = getvariable('side') AND run = getvariable('run'));
