-- Each window, cut wherever a device task begins or ends. A segment is compute where a kernel runs, else comm where a collective runs, else copy
-- where a copy runs, else idle. Own parts of one kind do not overlap, so the one that runs is the one with the latest end so far, if that lies
-- ahead. This end, `part_until_ns`, identifies the part, as `window_until_ns` identifies the window. Segments are also cut at the start of each
-- collective, hidden or not. `block_ns` is where a path over the ranks may last have come or left: the start of a collective, or the end of a
-- segment in which the device only communicates; NULL before the first.
-- Depends on account_own, account_start, account_window.
CREATE OR REPLACE TEMP TABLE account_segment AS
WITH edge AS (
    SELECT track, from_ns AS ts_ns, CASE WHEN what = 'kernel' THEN until_ns END AS kernel_ns, CASE WHEN what = 'collective' THEN until_ns END AS comm_ns,
           CASE WHEN what = 'copy' THEN until_ns END AS copy_ns, CAST(NULL AS BIGINT) AS window_ns, CAST(NULL AS BIGINT) AS start_ns
    FROM account_own
    UNION ALL SELECT track, until_ns, NULL, NULL, NULL, NULL, NULL FROM account_own
    UNION ALL SELECT track, from_ns, NULL, NULL, NULL, until_ns, NULL FROM account_window
    UNION ALL SELECT track, until_ns, NULL, NULL, NULL, NULL, NULL FROM account_window
    UNION ALL SELECT track, at_ns, NULL, NULL, NULL, NULL, at_ns FROM account_start
), cut AS (
    SELECT track, ts_ns, max(kernel_ns) AS kernel_ns, max(comm_ns) AS comm_ns, max(copy_ns) AS copy_ns, max(window_ns) AS window_ns,
           max(start_ns) AS start_ns
    FROM edge GROUP BY track, ts_ns
), swept AS (
    SELECT track, ts_ns AS from_ns, lead(ts_ns) OVER track AS until_ns, max(kernel_ns) OVER track AS kernel_ns, max(comm_ns) OVER track AS comm_ns,
           max(copy_ns) OVER track AS copy_ns, max(window_ns) OVER track AS window_ns, max(start_ns) OVER track AS start_ns
    FROM cut WINDOW track AS (PARTITION BY track ORDER BY ts_ns)
), segment AS (
    SELECT track, window_ns AS window_until_ns, from_ns, until_ns, start_ns,
           CASE WHEN kernel_ns > from_ns THEN 'compute' WHEN comm_ns > from_ns THEN 'comm' WHEN copy_ns > from_ns THEN 'copy' ELSE 'idle' END AS kind,
           CASE WHEN kernel_ns > from_ns THEN kernel_ns WHEN comm_ns > from_ns THEN comm_ns WHEN copy_ns > from_ns THEN copy_ns END AS part_until_ns
    FROM swept WHERE window_ns > from_ns
)
SELECT * EXCLUDE start_ns,
       greatest(start_ns, max(CASE WHEN kind = 'comm' THEN until_ns END) OVER (
           PARTITION BY track ORDER BY from_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS block_ns
FROM segment;
