-- Cuts pieces of host time by the innermost span on their lane, and at the edges of phases: account_labelled(name of a table of pieces). Pieces of one
-- lane do not overlap; their numbers, from 1, follow lane and time. A running sum counts the spans that are open; the innermost one is the latest that
-- began at this depth: `place` numbers the edges by depth and time, and the largest one so far carries the activity of its span along. At one time,
-- the order is: edges of phases, ends of spans, ends of pieces, starts of pieces, starts of spans. Spans that overlap without being nested, as ranges
-- may, can be named one for the other. `activity` is NULL where no span is open. The windows run over sorted rows, so that DuckDB streams them. They
-- need no partition: a lane ends as many spans and pieces as it starts.
-- Depends on account_lane, account_span, account_track, place.
CREATE OR REPLACE TEMP MACRO account_labelled(pieces) AS TABLE
WITH stretch AS (
    SELECT lane, min(from_ns) AS from_ns, max(until_ns) AS until_ns FROM query_table(pieces) GROUP BY lane
), span AS NOT MATERIALIZED (   -- DuckDB underestimates the rows of another join, and would build later hash tables of the larger side
    SELECT s.* FROM account_span AS s SEMI JOIN stretch AS p ON p.lane = s.lane AND s.start_ns < p.until_ns AND p.from_ns < s.end_ns
), edge AS (
    SELECT lane, start_ns AS ts_ns, id, activity FROM span
    UNION ALL SELECT lane, end_ns, -2, NULL FROM span
    UNION ALL SELECT lane, from_ns, 0, NULL FROM query_table(pieces)
    UNION ALL SELECT lane, until_ns, -1, NULL FROM query_table(pieces)
    UNION ALL
    SELECT l.lane, p.from_ns, -3, NULL
    FROM stretch AS s JOIN account_lane AS l ON l.lane = s.lane JOIN account_track AS t ON t.track = l.track JOIN place AS p ON p.capture = t.capture
), open AS (
    SELECT ts_ns AS from_ns, lead(ts_ns) OVER () AS until_ns, row_number() OVER () AS nth, activity,
           CAST(sum(CASE WHEN id > 0 THEN 1 WHEN id = -2 THEN -1 WHEN id >= -1 THEN 4294967296 END) OVER (ROWS UNBOUNDED PRECEDING) AS BIGINT) AS sum
    FROM (FROM edge ORDER BY lane, ts_ns, id)
), placed AS (
    SELECT *, row_number() OVER () AS place
    FROM (
        SELECT (sum >> 32) // 2 + 1 AS piece, (sum >> 32) % 2 = 1 AND until_ns > from_ns AS is_inside, sum % 4294967296 AS depth, from_ns, until_ns, activity
        FROM open ORDER BY depth * 4294967296 + nth
    )
)
SELECT piece, from_ns, until_ns, CASE WHEN depth > 0 THEN label % 4294967296 END AS activity
FROM (SELECT *, max(place * 4294967296 + activity) OVER (ROWS UNBOUNDED PRECEDING) AS label FROM placed)
WHERE is_inside;
