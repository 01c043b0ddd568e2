-- Section collectives, without their tasks.
-- Depends on c_collective_sum, side_mean.
-- Nothing without c_collective_sum.
SELECT kind AS name, group_key, CAST(NULL AS VARCHAR) AS task, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls,
       side_mean(wait_ns, divisor, side = 'baseline') AS baseline_wait_ns, side_mean(wait_ns, divisor, side = 'new') AS new_wait_ns,
       side_mean(transit_ns, divisor, side = 'baseline') AS baseline_transit_ns,
       side_mean(transit_ns, divisor, side = 'new') AS new_transit_ns,
       side_mean(exposed_ns, divisor, side = 'baseline') AS baseline_exposed_ns,
       side_mean(exposed_ns, divisor, side = 'new') AS new_exposed_ns,
       side_mean(bytes, divisor, side = 'baseline') AS baseline_bytes, side_mean(bytes, divisor, side = 'new') AS new_bytes
FROM c_collective_sum GROUP BY kind, group_key;
