-- The host's own time in framework operators per step, in each phase and as a whole: of all of them, and of those with as many calls as before.
-- Of these also the time of those that take longer than before, of those that take less, and the largest change of a single one. Without
-- operators that wait for the device.
-- Depends on c_account, c_divisor, c_operator, side_mean.
WITH exact AS (
    SELECT phase, name, side, divisor, sum(calls) AS calls, sum(host_self_ns) AS ns
    FROM c_operator JOIN c_divisor USING (side, run, capture)
    WHERE domain = 'operator' AND NOT coalesce(name IN (SELECT subject FROM c_account WHERE kind = 'sync' AND subject IS NOT NULL), FALSE)
    GROUP BY ALL
), of_name AS (
    SELECT phase, name, side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
           side_mean(calls, divisor, side = 'baseline') AS baseline_calls, side_mean(calls, divisor, side = 'new') AS new_calls
    FROM exact GROUP BY phase, name
), compared AS (
    SELECT phase, name, coalesce(baseline_ns, 0) AS baseline_ns, coalesce(new_ns, 0) AS new_ns,
           coalesce(least(baseline_calls, new_calls) > 0 AND abs(new_calls - baseline_calls) <= 0.01 * baseline_calls, FALSE) AS alike
    FROM of_name
)
SELECT phase, grouping(phase) = 1 AS whole, sum(baseline_ns) AS baseline_ns, sum(new_ns) AS new_ns,
       sum(baseline_ns) FILTER (WHERE alike) AS alike_baseline_ns, sum(new_ns) FILTER (WHERE alike) AS alike_new_ns,
       coalesce(sum(baseline_ns) FILTER (WHERE alike AND new_ns > baseline_ns), 0) AS longer_ns,
       coalesce(sum(baseline_ns) FILTER (WHERE alike AND new_ns < baseline_ns), 0) AS shorter_ns,
       max(abs(new_ns - baseline_ns)) FILTER (WHERE alike) AS largest_ns
FROM compared GROUP BY GROUPING SETS ((phase), ())
HAVING count(*) > 0 AND (grouping(phase) = 1 OR phase IS NOT NULL) ORDER BY ALL;
