-- From the first to the last of what the host recorded in each capture. Before and after, nothing tells what it did.
-- Depends on capture, collective, device_task, gc, host_api, host_op, phase, range, step.
-- Nothing without capture + device_task + gc + host_api + host_op + phase + range + step, collective + device_task + gc
-- + host_api + host_op + phase + range + step.
CREATE OR REPLACE TEMP TABLE host_extent AS
SELECT capture, min(start_ns) AS first_ns, max(end_ns) AS last_ns
FROM (
    SELECT capture, start_ns, end_ns FROM host_op UNION ALL SELECT capture, start_ns, end_ns FROM host_api
    UNION ALL SELECT capture, start_ns, end_ns FROM gc UNION ALL SELECT capture, start_ns, end_ns FROM "range" WHERE side = 'host'
    UNION ALL SELECT capture, launch_ns, launch_ns FROM device_task
    UNION ALL SELECT capture, start_ns, end_ns FROM step UNION ALL SELECT capture, start_ns, end_ns FROM phase WHERE NOT inferred
    UNION ALL SELECT c.capture, c.start_ns, c.end_ns FROM collective AS c JOIN capture AS p ON p.capture = c.capture WHERE p.executor = 'host'
) WHERE start_ns IS NOT NULL GROUP BY capture;
