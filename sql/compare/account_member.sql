-- For each row of section account the member whose change has the largest part in the change of the mean, that part, the change of the mean, and
-- the sum of the sizes of all parts. Likewise for the kinds that only section path has, by what each member itself has of them. No rows if the
-- sides have different members, or one each.
-- Depends on c_account_named, c_step_start_named, side_mean.
-- Nothing without c_account_named + c_step_start_named.
WITH side_members AS (
    SELECT side, list_sort(list(DISTINCT member)) AS members FROM c_account_named GROUP BY side
), several AS (
    SELECT count(DISTINCT members) = 1 AND min(len(members)) > 1 AS known FROM side_members
), named AS (
    SELECT kind, phase, name, member, side, divisor, ns FROM c_account_named
    UNION ALL
    SELECT kind, phase, name, member, side, divisor, ns FROM c_step_start_named
), exact AS (
    SELECT kind, phase, name, member, side, divisor, sum(ns) AS ns FROM named WHERE (SELECT known FROM several) GROUP BY ALL
), moved AS (
    SELECT kind, phase, name, member,
           coalesce(side_mean(ns, divisor, side = 'new'), 0) - coalesce(side_mean(ns, divisor, side = 'baseline'), 0) AS delta_ns
    FROM exact GROUP BY kind, phase, name, member
)
SELECT kind, phase, name, arg_max(member, {'by': abs(delta_ns), 'of': member}) AS member,
       arg_max(delta_ns, {'by': abs(delta_ns), 'of': member}) AS delta_ns, sum(delta_ns ORDER BY member) AS mean_ns,
       sum(abs(delta_ns) ORDER BY member) AS moved_ns
FROM moved GROUP BY kind, phase, name;
