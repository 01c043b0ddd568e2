-- Framework operators by device time over the whole run, as time of their own and in total.
-- Depends on r_operator.
SELECT name, sum(calls) AS calls, sum(host_self_ns) / 1e6 AS host_self_ms, sum(host_total_ns) / 1e6 AS host_total_ms,
       sum(device_self_ns) / 1e6 AS device_self_ms, sum(device_total_ns) / 1e6 AS device_total_ms
FROM r_operator GROUP BY name ORDER BY device_self_ms DESC NULLS LAST, host_self_ms DESC NULLS LAST, name;
