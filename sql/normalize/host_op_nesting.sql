-- Per framework operator: how deep it stands, and the device time launched inside it, a difference of two running sums.
-- Depends on host_op_edge, stage_host_op.
CREATE OR REPLACE TEMP TABLE host_op_nesting AS
WITH paired AS (
    SELECT id, max(depth) FILTER (delta = 1) AS depth, max(device_ns) AS device_self_ns,
           greatest(max(upto_ns) FILTER (delta = -1) - max(upto_ns - device_ns) FILTER (delta = 1), 0) AS device_ns
    FROM host_op_edge GROUP BY id
)
SELECT o.id, o.thread, o.start_ns, o.end_ns, p.depth, p.device_self_ns, p.device_ns
FROM stage_host_op AS o JOIN paired AS p USING (id);
