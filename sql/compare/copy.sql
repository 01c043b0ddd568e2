-- Section copies. Bytes per nanosecond are GB/s.
-- Depends on c_copy, c_divisor, reached_rate, side_mean.
-- Nothing without c_copy, c_divisor.
WITH exact AS (
    SELECT kind, side, divisor, sum(calls) AS calls, sum(sum_ns) AS ns, sum(size_bytes) AS bytes, sum(exposed_ns) AS exposed_ns
    FROM c_copy JOIN c_divisor USING (side, run, capture) WHERE domain = 'copy' GROUP BY ALL
)
SELECT kind AS name, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls,
       side_mean(exposed_ns, divisor, side = 'baseline') AS baseline_exposed_ns,
       side_mean(exposed_ns, divisor, side = 'new') AS new_exposed_ns,
       side_mean(bytes, divisor, side = 'baseline') AS baseline_bytes, side_mean(bytes, divisor, side = 'new') AS new_bytes,
       reached_rate(side_mean(bytes, divisor, side = 'baseline') / nullif(side_mean(ns, divisor, side = 'baseline'), 0)) AS baseline_gb_per_s,
       reached_rate(side_mean(bytes, divisor, side = 'new') / nullif(side_mean(ns, divisor, side = 'new'), 0)) AS new_gb_per_s
FROM exact GROUP BY kind;
