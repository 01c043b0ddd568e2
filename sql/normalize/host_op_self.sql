-- Self time of each framework operator that lasts, the time in which it is the innermost one of its thread; and how deep it is nested, from 1.
-- Of operators that overlap without being nested, as in damaged files, one may get time of the other: host_op cuts it to the operator's length.
-- Depends on host_op_edge.
CREATE OR REPLACE TEMP TABLE host_op_self AS
SELECT capture, id, CAST(sum(until_ns - from_ns) AS BIGINT) AS self_ns, min(depth) AS depth
FROM (
    SELECT capture, from_ns, until_ns, depth,
           last_value(id IGNORE NULLS) OVER (PARTITION BY capture, thread, depth ORDER BY place ROWS UNBOUNDED PRECEDING) AS id
    FROM host_op_edge
) WHERE depth > 0
GROUP BY capture, id;
