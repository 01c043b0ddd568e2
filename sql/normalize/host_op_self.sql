-- Self time of each framework operator that lasts, the time in which it is the innermost one of its thread; and how deep it is nested, from 1.
-- Of operators that overlap without being nested, as in damaged files, one may get time of the other: host_op cuts it to the operator's length.
-- Among the edges at one depth, each start has the edges up to the next start. Their time is a difference of a running sum, which the first
-- edge ends, as the order is backwards.
-- Depends on host_op_edge.
-- Nothing without stage_host_op.
CREATE OR REPLACE TEMP TABLE host_op_self AS
SELECT capture, id, CAST(upto_ns - lag(upto_ns, 1, 0) OVER () AS BIGINT) AS self_ns, depth
FROM (
    SELECT capture, id, depth, sum(until_ns - from_ns) OVER (ROWS UNBOUNDED PRECEDING) AS upto_ns
    FROM (FROM host_op_edge WHERE depth > 0 ORDER BY depth, place DESC)
) WHERE id IS NOT NULL;
