-- Cuts pieces of host time by the innermost span on their thread, and at the edges of phases: account_labelled(name of a table of pieces).
-- Pieces of one track and thread do not overlap. A running sum counts the spans that are open; the innermost one is the latest that began at
-- this depth: `place` numbers the edges, and the largest one carries its span along. Spans that overlap without being nested, as ranges may,
-- can be named one for the other. `span` is NULL where no span is open. `piece_ns`, the end of the piece, identifies it.
-- Depends on account_span, account_track, place.
CREATE OR REPLACE TEMP MACRO account_labelled(pieces) AS TABLE
WITH span AS (
    SELECT s.track, s.thread, s.start_ns, s.end_ns, s.id
    FROM account_span AS s ASOF JOIN query_table(pieces) AS p ON p.track = s.track AND p.thread = s.thread AND s.start_ns < p.until_ns
    WHERE p.from_ns < s.end_ns
), lane AS (
    SELECT DISTINCT track, thread FROM query_table(pieces)
), edge AS (
    SELECT track, thread, start_ns AS ts_ns, 1 AS sign, id, CAST(NULL AS BIGINT) AS piece_ns FROM span
    UNION ALL SELECT track, thread, end_ns, -1, id, NULL FROM span
    UNION ALL SELECT track, thread, from_ns, 0, 0, until_ns FROM query_table(pieces)
    UNION ALL SELECT track, thread, until_ns, 0, 0, NULL FROM query_table(pieces)
    UNION ALL
    SELECT l.track, l.thread, p.from_ns, 0, 0, NULL
    FROM lane AS l JOIN account_track AS t ON t.track = l.track JOIN place AS p ON p.capture = t.capture
), open AS (
    SELECT track, thread, ts_ns AS from_ns, lead(ts_ns) OVER thread AS until_ns, max(piece_ns) OVER thread AS piece_ns,
           CAST(sum(sign) OVER thread AS INTEGER) AS depth, row_number() OVER thread AS place, CASE WHEN sign = 1 THEN id END AS id
    FROM edge WINDOW thread AS (PARTITION BY track, thread ORDER BY ts_ns, sign, id ROWS UNBOUNDED PRECEDING)
)
SELECT track, from_ns, until_ns, piece_ns, CASE WHEN depth > 0 THEN label % 4294967296 END AS span
FROM (
    SELECT *, max(place * 4294967296 + id) OVER (PARTITION BY track, thread, depth ORDER BY place ROWS UNBOUNDED PRECEDING) AS label FROM open
) WHERE piece_ns > from_ns AND until_ns > from_ns;
