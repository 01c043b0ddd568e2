-- The accounts of both sides where only one side marks its steps. An account of a marked step has more than the span of the device that the
-- sides are compared by: what lies before the first task and after the last. So what a device waited for becomes one row, `free`: the rest of
-- its span.
-- Depends on c_account, c_time.
-- Nothing without c_account, c_time.
-- Runs after user_phase.
CREATE TABLE spanned AS
SELECT side, run, capture, sum(device_span_ns) AS span_ns FROM c_time
WHERE (SELECT count(DISTINCT side) = 1 FROM c_time WHERE step_ns IS NOT NULL)
GROUP BY side, run, capture HAVING count(device_span_ns) = count(*);
CREATE TABLE in_span AS
SELECT a.side, a.run, a.capture, a.kind IN ('compute', 'wait', 'transfer', 'comm', 'copy') AS is_busy, a.pieces, a.ns, s.span_ns
FROM c_account AS a JOIN spanned AS s USING (side, run, capture);
DELETE FROM c_account
WHERE kind NOT IN ('compute', 'wait', 'transfer', 'comm', 'copy') AND (side, run, capture) IN (SELECT (side, run, capture) FROM in_span);
INSERT INTO c_account BY NAME
SELECT side, run, capture, 'free' AS kind, coalesce(sum(pieces) FILTER (WHERE NOT is_busy), 0) AS pieces,
       any_value(span_ns) - coalesce(sum(ns) FILTER (WHERE is_busy), 0) AS ns
FROM in_span GROUP BY side, run, capture;
