-- Processes and lanes with their numbers: the new side's process behind the baseline's of the same name; a lane for each span that opened one.
-- Depends on trace_span.
-- Run by name: after trace_hop.
CREATE OR REPLACE TABLE trace_lane AS
SELECT s.track, s.place AS first, s.side, s.member, s.lane, s.kind,
       dense_rank() OVER (ORDER BY s.member_order, s.member, s.side) AS pid,
       row_number() OVER (PARTITION BY s.side, s.member ORDER BY list_position(['step', 'phase', 'compute', 'comm', 'copy', 'launch'], s.kind), s.lane_order, s.lane, s.open, s.place) AS tid,
       row_number() OVER (PARTITION BY s.track ORDER BY s.place) AS number
FROM trace_span AS s WHERE s.opens;
