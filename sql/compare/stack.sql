-- Section stacks: exported call stacks by their innermost frames, per member and step.
-- Depends on c_divisor, c_stack, side_mean.
-- Nothing without c_divisor, c_stack.
WITH exact AS (
    SELECT frame, callers, side, divisor, sum(calls) AS calls, sum(self_ns) AS ns
    FROM c_stack JOIN c_divisor USING (side, run, capture) WHERE domain = 'stack' GROUP BY ALL
)
SELECT frame AS name, callers, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls
FROM exact GROUP BY frame, callers;
