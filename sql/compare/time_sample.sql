-- One value per run and time, in ns: the mean, the maximum and the spread over members, each summed over groups. Members without a
-- measurement are skipped; `missing` is their number. The spread is NULL if no group has two members.
-- Depends on c_capture, c_time_value.
-- Nothing without c_capture, c_time_value.
WITH grouped AS (
    SELECT side, run, role, folder, metric, sum(ns ORDER BY member) / count(*) AS mean_ns, max(ns) AS max_ns, min(ns) AS min_ns,
           count(*) AS members
    FROM c_time_value GROUP BY ALL
), sized AS (
    SELECT side, run, role, folder, count(DISTINCT member) AS members FROM c_capture GROUP BY ALL
)
SELECT side, run, metric, sum(mean_ns ORDER BY role, folder) AS mean_ns, sum(max_ns ORDER BY role, folder) AS max_ns,
       sum(max_ns - min_ns ORDER BY role, folder) FILTER (WHERE g.members > 1) AS spread_ns,
       sum(s.members - g.members)::BIGINT AS missing, sum(s.members)::BIGINT AS members
FROM grouped AS g JOIN sized AS s USING (side, run, role, folder)
GROUP BY ALL ORDER BY side, run, metric;
