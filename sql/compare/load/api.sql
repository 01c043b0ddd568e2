-- Calls on the host of one run, summed over the selected steps. If a layer of a capture has only totals without a step (the profiler's
-- own), these count for the whole capture.
-- Variables: run, side.
-- Depends on c_capture, c_step, r_api, r_operator, reported_api.
-- Nothing without c_capture, r_api.
CREATE TABLE IF NOT EXISTS c_api (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    whole BOOLEAN NOT NULL,   -- TRUE: a sum over all steps of the capture
    layer VARCHAR NOT NULL,
    name VARCHAR,
    calls BIGINT,
    sum_ns BIGINT,
    is_sum BOOLEAN            -- TRUE: the profiler's own sum, whose calls have no times
);
INSERT INTO c_api
WITH stepless AS (
    SELECT capture, layer FROM store.r_api GROUP BY capture, layer HAVING count(step) = 0
), untimed AS (   -- a file without times is all that there is of the host, if operators have none either
    SELECT capture FROM store.reported_api EXCEPT SELECT capture FROM store.r_operator WHERE min_ns IS NOT NULL
)
SELECT c.side, c.run, c.capture, s.step IS NULL, r.layer, r.name, sum(r.calls), sum(r.sum_ns), r.capture IN (FROM untimed)
FROM store.r_api AS r
JOIN c_capture AS c ON c.capture = r.capture AND c.side = getvariable('side') AND c.run = getvariable('run')
LEFT JOIN c_step AS s ON s.capture = r.capture AND s.step = r.step AND s.selected AND s.side = c.side AND s.run = c.run
WHERE s.step IS NOT NULL OR (r.capture, r.layer) IN (FROM stepless)
GROUP BY ALL;
