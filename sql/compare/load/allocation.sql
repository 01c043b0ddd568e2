-- Allocations of one run by operator, over the whole capture: they carry no step. Variables: side, run. Depends on c_capture.
CREATE TABLE IF NOT EXISTS c_allocation (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    name VARCHAR,
    calls BIGINT,
    size_bytes BIGINT,
    max_bytes BIGINT,
    unreleased_bytes BIGINT
);
INSERT INTO c_allocation
SELECT c.side, c.run, c.capture, r.name, sum(r.calls), sum(r.size_bytes), max(r.max_bytes), sum(r.unreleased_bytes)
FROM store.r_allocation AS r
JOIN c_capture AS c ON c.capture = r.capture AND c.side = getvariable('side') AND c.run = getvariable('run')
GROUP BY ALL;
