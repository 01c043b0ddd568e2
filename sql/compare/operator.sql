-- Section operators. Elements of inputs and floating-point operations are of captures without a device, if all sizes are known.
-- Depends on c_divisor, c_operator, c_uneven, known_mean, side_mean, sum_if_known.
-- Nothing without c_divisor, c_operator.
WITH exact AS (
    SELECT name, side, divisor, sum(calls) AS calls, sum(host_self_ns) AS host_self_ns, sum(host_total_ns) AS host_total_ns,
           CASE WHEN NOT EXISTS (FROM c_uneven WHERE what IN ('operator_sums', 'operator_times')) THEN sum(device_self_ns) END AS device_self_ns,
           CASE WHEN NOT EXISTS (FROM c_uneven WHERE what IN ('operator_sums', 'operator_times')) THEN sum(device_total_ns) END AS device_total_ns,
           sum_if_known(elements) AS elements, sum_if_known(flop) AS flop
    FROM c_operator JOIN c_divisor USING (side, run, capture) WHERE domain = 'operator' GROUP BY ALL
)
SELECT name, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls,
       side_mean(host_self_ns, divisor, side = 'baseline') AS baseline_host_self_ns,
       side_mean(host_self_ns, divisor, side = 'new') AS new_host_self_ns,
       side_mean(host_total_ns, divisor, side = 'baseline') AS baseline_host_total_ns,
       side_mean(host_total_ns, divisor, side = 'new') AS new_host_total_ns,
       side_mean(device_self_ns, divisor, side = 'baseline') AS baseline_device_self_ns,
       side_mean(device_self_ns, divisor, side = 'new') AS new_device_self_ns,
       side_mean(device_total_ns, divisor, side = 'baseline') AS baseline_device_total_ns,
       side_mean(device_total_ns, divisor, side = 'new') AS new_device_total_ns,
       known_mean(elements, divisor, side = 'baseline') AS baseline_elements,
       known_mean(elements, divisor, side = 'new') AS new_elements,
       known_mean(flop, divisor, side = 'baseline') AS baseline_flop,
       known_mean(flop, divisor, side = 'new') AS new_flop
FROM exact GROUP BY name;
