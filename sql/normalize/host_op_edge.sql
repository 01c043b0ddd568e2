-- Starts and ends of the framework operators of each thread in order, with running sums over them: of +1 and −1 (the depth), and of the
-- device time that the operators launched. At one time stamp ends come before starts, and a longer operator opens first.
-- Depends on stage_host_op, stage_kernel.
CREATE OR REPLACE TEMP TABLE host_op_edge AS
WITH launched AS (
    SELECT host_op_id AS id, sum(end_ns - start_ns) AS device_ns FROM stage_kernel WHERE host_op_id IS NOT NULL GROUP BY host_op_id
), edge AS (
    SELECT o.id, o.thread, o.start_ns AS ts_ns, 1 AS delta, o.end_ns - o.start_ns AS length_ns, coalesce(l.device_ns, 0) AS device_ns
    FROM stage_host_op AS o LEFT JOIN launched AS l USING (id)
    UNION ALL
    SELECT id, thread, end_ns, -1, end_ns - start_ns, 0 FROM stage_host_op
)
SELECT id, delta, device_ns, sum(delta) OVER in_order AS depth, sum(device_ns) OVER in_order AS upto_ns
FROM edge
WINDOW in_order AS (PARTITION BY thread ORDER BY ts_ns, delta, -delta * length_ns, delta * id ROWS UNBOUNDED PRECEDING);
