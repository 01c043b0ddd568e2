-- Calls and sizes of framework operators by phase, in captures without a device, where the operators are what computes.
-- Depends on c_divisor, c_kernel, c_operator, known_mean, side_mean, sum_if_known.
-- Nothing without c_divisor, c_operator.
WITH exact AS (
    SELECT name, phase, side, divisor, sum(calls) AS calls, sum_if_known(elements) AS elements, sum_if_known(flop) AS flop
    FROM c_operator JOIN c_divisor USING (side, run, capture) WHERE domain = 'operator' AND NOT EXISTS (FROM c_kernel) GROUP BY ALL
)
SELECT name, phase, coalesce(side_mean(calls, divisor, side = 'baseline'), 0) AS baseline_calls, coalesce(side_mean(calls, divisor, side = 'new'), 0) AS new_calls,
       known_mean(elements, divisor, side = 'baseline') AS baseline_elements,
       known_mean(elements, divisor, side = 'new') AS new_elements,
       known_mean(flop, divisor, side = 'baseline') AS baseline_flop,
       known_mean(flop, divisor, side = 'new') AS new_flop
FROM exact WHERE name IS NOT NULL AND calls IS NOT NULL GROUP BY name, phase;
