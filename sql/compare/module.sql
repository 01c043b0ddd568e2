-- Section modules.
-- Depends on c_divisor, c_module, c_uneven, side_mean.
-- Nothing without c_divisor, c_module.
WITH exact AS (
    SELECT name, side, divisor, sum(calls) AS calls, sum(host_ns) AS host_ns, 
           CASE WHEN NOT EXISTS (FROM c_uneven WHERE what = 'module_times') THEN sum(device_ns) END AS device_ns
    FROM c_module JOIN c_divisor USING (side, run, capture) WHERE domain = 'module' GROUP BY ALL
)
SELECT name, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls,
       side_mean(host_ns, divisor, side = 'baseline') AS baseline_host_ns, side_mean(host_ns, divisor, side = 'new') AS new_host_ns,
       side_mean(device_ns, divisor, side = 'baseline') AS baseline_device_ns,
       side_mean(device_ns, divisor, side = 'new') AS new_device_ns
FROM exact GROUP BY name;
