-- The ten call stacks (by their three innermost frames) whose operators took the most time, per member of a role and step.
-- Depends on r_stack, shown_divisor.
SELECT s.frame, s.callers,
       sum(s.operators / v.times ORDER BY s.operators / v.times) AS operators,
       sum(s.self_ns / v.times ORDER BY s.self_ns / v.times) / 1e6 AS self_ms
FROM r_stack AS s JOIN shown_divisor AS v ON v.capture = s.capture
GROUP BY s.frame, s.callers ORDER BY self_ms DESC, s.frame, s.callers LIMIT 10;
