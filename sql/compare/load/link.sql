-- Transfers by pair of ranks of one run, summed over the selected steps, or over the whole capture if no step is known.
-- The profiler also writes the sum over all kinds of collectives of a group, as rows of kind 'total'. If a group has such rows, only they
-- count.
-- Variables: run, side.
-- Depends on c_capture, c_step, r_link.
-- Nothing without c_capture, r_link.
CREATE TABLE IF NOT EXISTS c_link (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    whole BOOLEAN NOT NULL,   -- TRUE: a sum over all steps of the capture
    group_key VARCHAR,
    src_rank BIGINT,
    dst_rank BIGINT,
    transport VARCHAR,
    size_bytes BIGINT,
    transit_ns BIGINT
);
INSERT INTO c_link
WITH stepless AS (
    SELECT capture FROM store.r_link GROUP BY capture HAVING count(step) = 0
), once AS (
    SELECT * FROM store.r_link
    QUALIFY kind = 'total' OR NOT bool_or(kind = 'total') OVER (PARTITION BY capture, step, group_key)
)
SELECT c.side, c.run, c.capture, s.step IS NULL, r.group_key, r.src_rank, r.dst_rank, r.transport, sum(r.size_bytes), sum(r.transit_ns)
FROM once AS r
JOIN c_capture AS c ON c.capture = r.capture AND c.side = getvariable('side') AND c.run = getvariable('run')
LEFT JOIN c_step AS s ON s.capture = r.capture AND s.step = r.step AND s.selected AND s.side = c.side AND s.run = c.run
WHERE s.step IS NOT NULL OR r.capture IN (FROM stepless)
GROUP BY ALL;
