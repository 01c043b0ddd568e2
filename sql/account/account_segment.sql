-- Each window, cut wherever a device task begins or ends. A segment is compute where a kernel runs, else comm where a collective runs, else copy
-- where a copy runs, else idle. Own parts of one kind do not overlap, so the one that runs is the one with the latest end so far, if that lies
-- ahead. This end, `part_until_ns`, identifies the part, as `window_until_ns` identifies the window. Segments are also cut at the start of each
-- collective, hidden or not. `block_ns` is where a path over the ranks may last have come or left: the start of a collective, or the end of a
-- segment in which the device only communicates; NULL before the first.
-- Depends on account_own, account_start, account_window, on_line.
-- Nothing without account_own + account_start + account_window.
CREATE OR REPLACE TEMP TABLE account_segment AS
WITH edge AS (
    SELECT track, from_ns AS ts_ns, what, until_ns FROM account_own
    UNION ALL SELECT track, from_ns, 'window', until_ns FROM account_window
    UNION ALL SELECT track, at_ns, 'start', at_ns FROM account_start
    UNION ALL SELECT track, until_ns, NULL, NULL FROM account_own
    UNION ALL SELECT track, until_ns, NULL, NULL FROM account_window
), swept AS (
    SELECT track, ts_ns, lead(ts_ns) OVER () AS next_ns, on_line(track, 0) AS line_ns,
           max(CASE WHEN what = 'kernel' THEN on_line(track, until_ns) END) OVER (ROWS UNBOUNDED PRECEDING) - line_ns AS kernel_ns,
           max(CASE WHEN what = 'collective' THEN on_line(track, until_ns) END) OVER (ROWS UNBOUNDED PRECEDING) - line_ns AS comm_ns,
           max(CASE WHEN what = 'copy' THEN on_line(track, until_ns) END) OVER (ROWS UNBOUNDED PRECEDING) - line_ns AS copy_ns,
           max(CASE WHEN what = 'window' THEN on_line(track, until_ns) END) OVER (ROWS UNBOUNDED PRECEDING) - line_ns AS window_ns,
           max(CASE WHEN what = 'start' THEN on_line(track, until_ns) END) OVER (ROWS UNBOUNDED PRECEDING) - line_ns AS start_ns
    FROM (FROM edge ORDER BY track, ts_ns)
), segment AS (   -- what belongs to an earlier track is no BIGINT here, and below every time
    SELECT track, CAST(window_ns AS BIGINT) AS window_until_ns, ts_ns AS from_ns, next_ns AS until_ns, line_ns, TRY_CAST(start_ns AS BIGINT) AS start_ns,
           CASE WHEN kernel_ns > ts_ns THEN 'compute' WHEN comm_ns > ts_ns THEN 'comm' WHEN copy_ns > ts_ns THEN 'copy' ELSE 'idle' END AS kind,
           CAST(CASE WHEN kernel_ns > ts_ns THEN kernel_ns WHEN comm_ns > ts_ns THEN comm_ns WHEN copy_ns > ts_ns THEN copy_ns END AS BIGINT) AS part_until_ns
    FROM swept WHERE next_ns > ts_ns AND window_ns > ts_ns
), left_behind AS (
    SELECT *, lag(CASE WHEN kind = 'comm' THEN on_line(track, until_ns) END) OVER () AS comm_until FROM segment
)
SELECT * EXCLUDE (line_ns, start_ns, comm_until),
       greatest(start_ns, TRY_CAST(max(comm_until) OVER (ROWS UNBOUNDED PRECEDING) - line_ns AS BIGINT)) AS block_ns
FROM left_behind;
