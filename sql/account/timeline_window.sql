-- The stretches of r_timeline. A step is typical if its time, on the host where steps are marked, is the nearest to the median of its capture;
-- so is a call of a phase among those of all steps. A phase lasts from its start on the host to its end there, or to the end of its last device task.
-- Depends on account_track, account_window, capture, phase, placed, r_time.
-- Nothing without account_track, account_window, capture, r_time.
CREATE OR REPLACE TEMP TABLE timeline_window AS
WITH slowest AS (
    SELECT capture, device_id, step, coalesce(step_ns, device_span_ns) AS ns FROM r_time
    WHERE device_span_ns > 0 AND capture IN (SELECT capture FROM capture WHERE executor = 'device')
    QUALIFY row_number() OVER (PARTITION BY capture, step ORDER BY device_span_ns DESC, comm_ns DESC NULLS LAST, device_id) = 1
), middle AS (
    SELECT capture, median(ns) AS ns, count(*) AS steps FROM slowest GROUP BY capture
), typical AS (
    SELECT s.capture, s.device_id, s.step, m.steps FROM slowest AS s JOIN middle AS m ON m.capture = s.capture
    QUALIFY row_number() OVER (PARTITION BY s.capture ORDER BY abs(s.ns - m.ns), s.step) = 1
), whole AS (
    SELECT t.track, c.*, w.from_ns, w.until_ns
    FROM typical AS c JOIN account_track AS t ON t.capture = c.capture AND t.device_id IS NOT DISTINCT FROM c.device_id
    JOIN account_window AS w ON w.track = t.track AND w.step = c.step
), every AS (
    SELECT t.track, c.capture, c.device_id, w.step, c.steps, w.step = c.step AS is_typical
    FROM typical AS c JOIN account_track AS t ON t.capture = c.capture AND t.device_id IS NOT DISTINCT FROM c.device_id
    JOIN account_window AS w ON w.track = t.track
), call AS (
    SELECT w.track, f.capture, w.device_id, w.step, w.steps, w.is_typical, f.name, f.call, min(f.start_ns) AS from_ns, max(f.end_ns) AS host_until_ns
    FROM every AS w JOIN phase AS f ON f.capture = w.capture AND f.step = w.step
    WHERE NOT f.inferred GROUP BY ALL
), usual AS (
    SELECT capture, name, median(host_until_ns - from_ns) AS ns, sum(host_until_ns - from_ns) AS sum_ns FROM call GROUP BY capture, name
    QUALIFY row_number() OVER (PARTITION BY capture ORDER BY sum_ns DESC, name) <= 8
), chosen AS (
    SELECT c.*, count(*) OVER (PARTITION BY c.capture, c.name, c.step) AS calls FROM call AS c JOIN usual AS u ON u.capture = c.capture AND u.name = c.name
    QUALIFY row_number() OVER (PARTITION BY c.capture, c.name ORDER BY abs(c.host_until_ns - c.from_ns - u.ns), c.is_typical DESC, c.from_ns) = 1
), ended AS (
    SELECT c.capture, c.call, max(p.end_ns) AS end_ns
    FROM chosen AS c JOIN phase AS f ON f.capture = c.capture AND f.call = c.call
    JOIN placed AS p ON p.capture = f.capture AND p.phase = f.id AND p.step = c.step AND p.device_id IS NOT DISTINCT FROM c.device_id
    GROUP BY ALL
), shown AS (
    SELECT c.track, c.capture, c.device_id, c.step, c.steps, c.name AS phase, c.calls, c.from_ns, greatest(c.host_until_ns, e.end_ns) AS until_ns
    FROM chosen AS c LEFT JOIN ended AS e ON e.capture = c.capture AND e.call = c.call
), stretch AS (
    SELECT w.track, w.capture, w.device_id, w.step, w.steps, p.phase, CAST(NULL AS BIGINT) AS calls, w.from_ns, w.until_ns
    FROM whole AS w JOIN capture AS p ON p.capture = w.capture
    UNION ALL FROM shown
)
SELECT *, (until_ns - from_ns + 199) // 200 AS bucket_ns FROM stretch WHERE until_ns > from_ns;
