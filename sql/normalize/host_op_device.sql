-- Device time launched inside each framework operator, at any depth: the difference of a running sum over the launching operators of its
-- thread, in order of their start, at its end and at its start. Depends on host_op_depth, stage_kernel.
CREATE OR REPLACE TEMP TABLE host_op_device AS
WITH running AS (
    SELECT o.thread, o.start_ns AS launch_ns, sum(sum(k.end_ns - k.start_ns)) OVER (PARTITION BY o.thread ORDER BY o.start_ns) AS upto_ns
    FROM stage_kernel AS k JOIN host_op_depth AS o ON o.id = k.host_op_id
    GROUP BY o.thread, o.start_ns
), before AS (
    SELECT o.id, o.thread, o.end_ns, coalesce(r.upto_ns, 0) AS before_ns
    FROM host_op_depth AS o ASOF LEFT JOIN running AS r ON r.thread = o.thread AND o.start_ns > r.launch_ns
)
SELECT b.id, coalesce(r.upto_ns, 0) - b.before_ns AS device_ns
FROM before AS b ASOF LEFT JOIN running AS r ON r.thread = b.thread AND b.end_ns > r.launch_ns;
