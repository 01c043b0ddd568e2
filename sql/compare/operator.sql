-- Section operators.
-- Depends on c_divisor, c_operator, side_mean.
WITH exact AS (
    SELECT name, side, divisor, sum(calls) AS calls, sum(host_ns) AS host_ns, sum(device_ns) AS device_ns,
           sum(device_self_ns) AS device_self_ns
    FROM c_operator JOIN c_divisor USING (side, run, capture) WHERE domain = 'operator' GROUP BY ALL
)
SELECT name, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls,
       side_mean(host_ns, divisor, side = 'baseline') AS baseline_host_ns, side_mean(host_ns, divisor, side = 'new') AS new_host_ns,
       side_mean(device_ns, divisor, side = 'baseline') AS baseline_device_ns,
       side_mean(device_ns, divisor, side = 'new') AS new_device_ns,
       side_mean(device_self_ns, divisor, side = 'baseline') AS baseline_device_self_ns,
       side_mean(device_self_ns, divisor, side = 'new') AS new_device_self_ns
FROM exact GROUP BY name;
