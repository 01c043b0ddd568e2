-- Allocations by operator for section memory, in bytes per member and step.
-- Depends on c_allocation, c_divisor, side_mean.
-- Nothing without c_allocation, c_divisor.
WITH exact AS (
    SELECT name, side, divisor, sum(calls) AS calls, sum(size_bytes) AS bytes, max(max_bytes) AS max_bytes,
           sum(unreleased_bytes) AS unreleased_bytes
    FROM c_allocation JOIN c_divisor USING (side, run, capture) WHERE domain = 'allocation' GROUP BY ALL
)
SELECT name, 'allocated' AS what, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(bytes, divisor, side = 'baseline') AS baseline_amount, side_mean(bytes, divisor, side = 'new') AS new_amount,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls,
       max(max_bytes) FILTER (WHERE side = 'baseline') AS baseline_max_bytes,
       max(max_bytes) FILTER (WHERE side = 'new') AS new_max_bytes,
       side_mean(unreleased_bytes, divisor, side = 'baseline') AS baseline_unreleased_bytes,
       side_mean(unreleased_bytes, divisor, side = 'new') AS new_unreleased_bytes
FROM exact GROUP BY name;
