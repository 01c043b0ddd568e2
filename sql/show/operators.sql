-- The twenty framework operators with the most device time of their own (host time, if there is none), per member of a role and step. For a
-- source without time stamps: of the whole capture. Total times include the operators inside.
-- Depends on r_operator, shown_device, shown_divisor.
WITH stepless AS (
    SELECT capture FROM r_operator GROUP BY capture HAVING count(step) = 0
)
SELECT o.name AS operator,
       sum(o.calls / times ORDER BY o.calls / times) AS calls,
       sum(o.host_self_ns / 1e6 / times ORDER BY o.host_self_ns / 1e6 / times) AS host_self_ms,
       sum(o.host_total_ns / 1e6 / times ORDER BY o.host_total_ns / 1e6 / times) AS host_total_ms,
       sum(o.device_self_ns / 1e6 / times ORDER BY o.device_self_ns / 1e6 / times) AS device_self_ms,
       sum(o.device_total_ns / 1e6 / times ORDER BY o.device_total_ns / 1e6 / times) AS device_total_ms
FROM r_operator AS o JOIN shown_divisor AS v ON v.capture = o.capture
WHERE o.capture IN (FROM stepless) OR (o.capture, o.step) IN (SELECT capture, step FROM shown_device)
GROUP BY o.name ORDER BY device_self_ms DESC NULLS LAST, host_self_ms DESC NULLS LAST, operator LIMIT 20;
