-- Spans with their lane (`track`) and place in it, and how many are open when each starts, itself included. A span of no length lasts 1 ns here.
-- Variables: most (number of spans that a side may have).
-- Depends on trace_event.
-- Run by name: first of three that give each span a lane on which nothing overlaps.
CREATE OR REPLACE TABLE trace_span AS
WITH kept AS (
    SELECT *, row_number() OVER (PARTITION BY side ORDER BY kind = 'launch', kind IN ('compute', 'copy'), end_ns - start_ns DESC, start_ns, member, lane, name) AS rank
    FROM trace_event
), numbered AS (
    SELECT * EXCLUDE rank, greatest(end_ns, start_ns + 1) AS until_ns, dense_rank() OVER (ORDER BY side, member_order, member, kind, lane) AS track
    FROM kept WHERE rank <= getvariable('most')
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY track ORDER BY start_ns, until_ns DESC, name, args) AS place FROM numbered
), ended AS (
    SELECT track, until_ns, row_number() OVER (PARTITION BY track ORDER BY until_ns, place) AS ends, place FROM placed
), counted AS (
    SELECT p.*, e.ends AS own_ends, p.place - coalesce(b.ended, 0) AS open
    FROM placed AS p JOIN ended AS e ON e.track = p.track AND e.place = p.place
    ASOF LEFT JOIN (SELECT track, until_ns, max(ends) AS ended FROM ended GROUP BY ALL) AS b ON b.track = p.track AND p.start_ns >= b.until_ns
)
SELECT *, coalesce(open > max(open) OVER (PARTITION BY track ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), TRUE) AS opens FROM counted;
