-- What a trace can show of a run: for each step and member, its captures, and how much there is to draw. First come the steps whose time,
-- that of their slowest member, is nearest to the median over steps.
-- Depends on capture, r_time.
-- Run by name: with a store attached.
WITH timed AS (
    SELECT t.capture, t.step, max(coalesce(t.step_ns, t.device_span_ns, t.comm_ns)) AS ns, sum(coalesce(t.kernels, 0) + coalesce(t.collectives, 0)) AS tasks
    FROM store.r_time AS t GROUP BY t.capture, t.step
), member AS (
    SELECT t.step, CASE WHEN c.replica IS NULL AND c.rank IS NULL THEN 'capture ' || c.ordinal
               ELSE concat_ws(' ', CASE WHEN c.phase IS NULL AND c.replica IS NULL THEN c.role END, 'replica ' || c.replica, 'rank ' || c.rank) END AS member,
           list(t.capture ORDER BY t.capture) AS captures, CAST(sum(t.ns) AS BIGINT) AS ns, CAST(sum(t.tasks) AS BIGINT) AS tasks
    FROM timed AS t JOIN store.capture AS c ON c.capture = t.capture GROUP BY ALL
), step AS (
    SELECT step, max(ns) AS ns FROM member GROUP BY step
), middle AS (
    SELECT median(ns) AS ns FROM step
)
SELECT m.step, m.member, m.captures, m.tasks
FROM member AS m JOIN step AS s ON s.step = m.step
ORDER BY abs(s.ns - (SELECT ns FROM middle)), m.step, m.ns DESC, m.member;
