-- Findings of the sources about one run.
-- Variables: run, side.
-- Depends on c_capture, finding.
-- Nothing without finding.
CREATE TABLE IF NOT EXISTS c_finding (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER,          -- NULL: of the whole run
    severity VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    message VARCHAR NOT NULL
);
INSERT INTO c_finding
SELECT getvariable('side'), getvariable('run'), f.capture, f.severity, f.key, f.message
FROM store.finding AS f
WHERE f.capture IS NULL
   OR f.capture IN (SELECT capture FROM c_capture WHERE side = getvariable('side') AND run = getvariable('run'));
