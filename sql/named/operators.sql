-- Framework operators by device time over the whole run.
-- Depends on r_operator.
SELECT name, sum(calls) AS calls, sum(host_ns) / 1e6 AS host_ms, sum(self_ns) / 1e6 AS host_self_ms, sum(device_ns) / 1e6 AS device_ms,
       sum(device_self_ns) / 1e6 AS device_self_ms
FROM r_operator GROUP BY name ORDER BY device_self_ms DESC NULLS LAST, host_ms DESC NULLS LAST, name;
