-- Section apis: calls on the host by layer and name.
-- Depends on c_api, c_divisor, side_mean.
-- Nothing without c_api, c_divisor.
WITH exact AS (
    SELECT layer, name, side, divisor, sum(calls) AS calls, sum(sum_ns) AS ns
    FROM c_api JOIN c_divisor USING (side, run, capture) WHERE domain = 'api ' || layer GROUP BY ALL
)
SELECT name, layer, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls
FROM exact GROUP BY layer, name;
