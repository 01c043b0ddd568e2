-- Copies of one run by kind, summed over the selected steps, slowest device only.
-- Variables: run, side.
-- Depends on c_time, r_copy.
-- Nothing without c_time, r_copy.
CREATE TABLE IF NOT EXISTS c_copy (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    calls BIGINT,
    sum_ns BIGINT,
    size_bytes BIGINT,
    exposed_ns BIGINT
);
INSERT INTO c_copy
SELECT t.side, t.run, t.capture, r.kind, sum(r.calls), sum(r.sum_ns), sum(r.size_bytes), sum(r.exposed_ns)
FROM store.r_copy AS r
JOIN c_time AS t ON t.capture = r.capture AND t.step = r.step AND t.device_id IS NOT DISTINCT FROM r.device_id
 AND t.side = getvariable('side') AND t.run = getvariable('run')
GROUP BY ALL;
