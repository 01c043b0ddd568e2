-- Framework operators of one run, summed over the selected steps. If a capture has only totals without a step (a source without time
-- stamps), these count for the whole capture.
-- Variables: run, side.
-- Depends on c_capture, c_step, is_head, known_as, own_or_others, r_operator, sum_if_known.
-- Nothing without c_capture, r_operator.
CREATE TABLE IF NOT EXISTS c_operator (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    whole BOOLEAN NOT NULL,   -- TRUE: a sum over all steps of the capture
    phase VARCHAR,
    name VARCHAR,
    calls BIGINT,
    host_self_ns BIGINT,
    host_total_ns BIGINT,
    device_self_ns BIGINT,
    device_total_ns BIGINT,
    elements HUGEINT,         -- r_operator: whole numbers, so that sums do not depend on their order
    flop HUGEINT,
    is_sum BOOLEAN            -- TRUE: the profiler's own sum, whose device time contains collectives and copies
);
INSERT INTO c_operator
WITH stepless AS (
    SELECT capture FROM store.r_operator GROUP BY capture HAVING count(step) = 0
)
SELECT c.side, c.run, c.capture, s.step IS NULL, r.phase,
       own_or_others(known_as(r.name), is_head(known_as(r.name))), sum(r.calls), sum(r.host_self_ns), sum(r.host_total_ns),
       sum(r.device_self_ns), sum(r.device_total_ns),
       sum_if_known(TRY_CAST(r.elements AS HUGEINT)), sum_if_known(TRY_CAST(r.flop AS HUGEINT)),
       bool_or(r.min_ns IS NULL)
FROM store.r_operator AS r
JOIN c_capture AS c ON c.capture = r.capture AND c.side = getvariable('side') AND c.run = getvariable('run')
LEFT JOIN c_step AS s ON s.capture = r.capture AND s.step = r.step AND s.selected AND s.side = c.side AND s.run = c.run
WHERE s.step IS NOT NULL OR r.capture IN (FROM stepless)
GROUP BY ALL;
