-- Allocations of one run by operator, summed over the selected steps, or over the whole capture if none has a step.
-- Variables: run, side.
-- Depends on c_capture, c_step, r_allocation.
-- Nothing without c_capture, r_allocation.
CREATE TABLE IF NOT EXISTS c_allocation (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    whole BOOLEAN NOT NULL,   -- TRUE: a sum over all steps of the capture
    name VARCHAR,
    calls BIGINT,
    size_bytes BIGINT,
    max_bytes BIGINT,
    unreleased_bytes BIGINT
);
INSERT INTO c_allocation
WITH stepless AS (
    SELECT capture FROM store.r_allocation GROUP BY capture HAVING count(step) = 0
)
SELECT c.side, c.run, c.capture, s.step IS NULL, r.name, sum(r.calls), sum(r.size_bytes), max(r.max_bytes), sum(r.unreleased_bytes)
FROM store.r_allocation AS r
JOIN c_capture AS c ON c.capture = r.capture AND c.side = getvariable('side') AND c.run = getvariable('run')
LEFT JOIN c_step AS s ON s.capture = r.capture AND s.step = r.step AND s.selected AND s.side = c.side AND s.run = c.run
WHERE s.step IS NOT NULL OR r.capture IN (FROM stepless)
GROUP BY ALL;
