-- Processes and lanes with their numbers: the new side's process behind the baseline's of the same name; a lane for each span that opened one.
-- Numbers of lanes differ between processes, and from those of processes, because some viewers take them for those of a system.
-- Depends on trace_span.
-- Run by name: after trace_hop.
CREATE OR REPLACE TABLE trace_lane AS
WITH numbered AS (
    SELECT *, 1000 * dense_rank() OVER (ORDER BY member_order, member, side) AS pid FROM trace_span WHERE opens
)
SELECT track, place AS first, side, member, lane, kind, pid,
       pid + row_number() OVER (PARTITION BY pid ORDER BY list_position(['step', 'phase', 'compute', 'comm', 'copy', 'launch'], kind), lane_order, lane, open, place) AS tid,
       row_number() OVER (PARTITION BY track ORDER BY place) AS number
FROM numbered;
