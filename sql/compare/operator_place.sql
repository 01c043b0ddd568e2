-- Calls and sizes of framework operators by phase, in captures without a device, where the operators are what computes.
-- Depends on c_divisor, c_kernel, c_operator, side_mean, sum_if_known.
-- Nothing without c_divisor, c_operator.
WITH exact AS (
    SELECT name, phase, side, divisor, sum(calls) AS calls, sum_if_known(elements) AS elements, sum_if_known(flop) AS flop
    FROM c_operator JOIN c_divisor USING (side, run, capture) WHERE domain = 'operator' AND NOT EXISTS (FROM c_kernel) GROUP BY ALL
)
SELECT name, phase, coalesce(side_mean(calls, divisor, side = 'baseline'), 0) AS baseline_calls, coalesce(side_mean(calls, divisor, side = 'new'), 0) AS new_calls,
       CASE WHEN count(elements) = count(*) THEN side_mean(elements, divisor, side = 'baseline') END AS baseline_elements,
       CASE WHEN count(elements) = count(*) THEN side_mean(elements, divisor, side = 'new') END AS new_elements,
       CASE WHEN count(flop) = count(*) THEN side_mean(flop, divisor, side = 'baseline') END AS baseline_flop,
       CASE WHEN count(flop) = count(*) THEN side_mean(flop, divisor, side = 'new') END AS new_flop
FROM exact WHERE name IS NOT NULL AND calls IS NOT NULL GROUP BY name, phase;
