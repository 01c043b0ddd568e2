-- For each row of section account the member whose change has the largest part in the change of the mean, and that part. No rows if a side
-- has a single member.
-- Depends on c_account_named, side_mean.
WITH several AS (
    SELECT min(members) > 1 AS known FROM (SELECT side, count(DISTINCT member) AS members FROM c_account_named GROUP BY side)
), exact AS (
    SELECT kind, phase, name, member, side, divisor, sum(ns) AS ns FROM c_account_named WHERE (SELECT known FROM several) GROUP BY ALL
), moved AS (
    SELECT kind, phase, name, member,
           coalesce(side_mean(ns, divisor, side = 'new'), 0) - coalesce(side_mean(ns, divisor, side = 'baseline'), 0) AS delta_ns
    FROM exact GROUP BY kind, phase, name, member
)
SELECT kind, phase, name, arg_max(member, {'by': abs(delta_ns), 'of': member}) AS member,
       arg_max(delta_ns, {'by': abs(delta_ns), 'of': member}) AS delta_ns
FROM moved GROUP BY kind, phase, name;
