-- The times of each role per run, in ns: the mean over its own members, summed over its folders. Processes of different roles are never
-- averaged together. Captures without a role are the ranks of the trainer. Empty if there is only one role.
-- Depends on c_capture, c_time_value.
-- Nothing without c_time_value.
WITH grouped AS (
    SELECT side, run, role, folder, metric, sum(ns ORDER BY member) / count(*) AS ns FROM c_time_value
    WHERE metric IN ('device_span', 'compute', 'exposed_comm', 'free') GROUP BY ALL
)
SELECT side, run, CASE role WHEN '' THEN 'trainer' ELSE role END AS role, metric, sum(ns ORDER BY folder) AS ns
FROM grouped WHERE (SELECT count(DISTINCT role) FROM c_capture) > 1
GROUP BY side, run, role, metric
ORDER BY role, list_position(['device_span', 'compute', 'exposed_comm', 'free'], metric), side, run;
