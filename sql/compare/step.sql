-- Section steps: the times of the steps by position, mean over members and runs, in ns.
-- Depends on c_capture, c_position, c_time, sum_of_groups, sum_of_runs.
-- Nothing without c_capture, c_position, c_time.
WITH stepped AS (
    SELECT t.side, t.run, c.role, c.folder, c.member, t.step, sum(t.step_ns) AS step_ns, sum(t.device_span_ns) AS device_span_ns,
           sum(t.compute_ns) AS compute_ns, sum(t.comm_ns) AS comm_ns, sum(t.exposed_comm_ns) AS exposed_comm_ns, sum(t.free_ns) AS free_ns
    FROM c_time AS t JOIN c_capture AS c USING (side, run, capture) GROUP BY ALL
), grouped AS (
    SELECT side, run, role, folder, step,
           sum(step_ns) / count(step_ns) AS step_ns, sum(device_span_ns) / count(device_span_ns) AS device_span_ns,
           sum(compute_ns) / count(compute_ns) AS compute_ns, sum(comm_ns) / count(comm_ns) AS comm_ns,
           sum(exposed_comm_ns) / count(exposed_comm_ns) AS exposed_comm_ns, sum(free_ns) / count(free_ns) AS free_ns
    FROM stepped GROUP BY ALL
), per_run AS (
    SELECT g.side, g.run, p.position, g.step,
           sum_of_groups(step_ns, role, folder) AS step_ns, sum_of_groups(device_span_ns, role, folder) AS device_span_ns,
           sum_of_groups(compute_ns, role, folder) AS compute_ns, sum_of_groups(comm_ns, role, folder) AS comm_ns,
           sum_of_groups(exposed_comm_ns, role, folder) AS exposed_comm_ns, sum_of_groups(free_ns, role, folder) AS free_ns
    FROM grouped AS g JOIN c_position AS p USING (side, run, step) GROUP BY ALL
)
SELECT side, position, first(step ORDER BY run) AS step,
       sum_of_runs(step_ns, run) / count(step_ns) AS step_ns, sum_of_runs(device_span_ns, run) / count(device_span_ns) AS device_span_ns,
       sum_of_runs(compute_ns, run) / count(compute_ns) AS compute_ns, sum_of_runs(comm_ns, run) / count(comm_ns) AS comm_ns,
       sum_of_runs(exposed_comm_ns, run) / count(exposed_comm_ns) AS exposed_comm_ns, sum_of_runs(free_ns, run) / count(free_ns) AS free_ns
FROM per_run GROUP BY side, position ORDER BY position, side;
