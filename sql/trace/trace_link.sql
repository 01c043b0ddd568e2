-- Of each span that opens no lane of its own, the one whose lane it takes over: the n-th such span of a track takes the lane of the n-th that
-- ends, which has ended by then. `first` is, in the end, the span that opened the lane.
-- Depends on trace_span.
-- Run by name: after trace_span.
CREATE OR REPLACE TABLE trace_link AS
SELECT s.track, s.place, CASE WHEN s.opens THEN s.place ELSE e.place END AS first
FROM (
    SELECT *, sum(CASE WHEN opens THEN 0 ELSE 1 END) OVER (PARTITION BY track ORDER BY place ROWS UNBOUNDED PRECEDING) AS turn FROM trace_span
) AS s LEFT JOIN trace_span AS e ON e.track = s.track AND e.own_ends = s.turn AND NOT s.opens;
