-- Makes the accounts of both sides sum to the times that the sides are compared by.
-- Steps of a rank whose device was not recorded, beside ranks that have an account: all their time is unknown.
-- If only one side marks its steps, the sides are compared by the span of the device, and an account of a marked step has more than that: what lies
-- before the first task and after the last. So all time in which the device runs nothing becomes one row, `free`: the rest of the span.
-- Depends on c_account, c_time.
-- Nothing without c_time.
-- Runs after lone_host, user_phase.
INSERT INTO c_account BY NAME
SELECT side, run, capture, 'unknown' AS kind, count(*) AS pieces, sum(step_ns) AS ns FROM c_time
WHERE step_ns > 0 AND (side, run) IN (SELECT (side, run) FROM c_account) AND (side, run, capture) NOT IN (SELECT (side, run, capture) FROM c_account)
GROUP BY side, run, capture;
CREATE TABLE spanned AS
SELECT side, run, capture, sum(device_span_ns) AS span_ns FROM c_time
WHERE (SELECT count(DISTINCT side) = 1 FROM c_time WHERE step_ns IS NOT NULL) AND (SELECT count(DISTINCT side) = 2 FROM c_time WHERE device_span_ns IS NOT NULL)
GROUP BY side, run, capture HAVING count(device_span_ns) = count(*);
CREATE TABLE in_span AS
SELECT a.rowid AS number, a.side, a.run, a.capture, a.kind IN ('compute', 'wait', 'transfer', 'comm', 'copy') AS is_busy, a.pieces, a.ns, s.span_ns
FROM c_account AS a JOIN spanned AS s USING (side, run, capture);
DELETE FROM c_account WHERE rowid IN (SELECT number FROM in_span WHERE NOT is_busy);
INSERT INTO c_account BY NAME
SELECT side, run, capture, 'free' AS kind, coalesce(sum(pieces) FILTER (WHERE NOT is_busy), 0) AS pieces,
       any_value(span_ns) - coalesce(sum(ns) FILTER (WHERE is_busy), 0) AS ns
FROM in_span GROUP BY side, run, capture;
