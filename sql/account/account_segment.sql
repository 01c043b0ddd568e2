-- Each window, cut wherever a device task begins or ends. A segment is compute where a kernel runs, else comm where a collective runs, else copy
-- where a copy runs, else idle. `part` is the own part that runs; of an idle segment the next one, which is of another track after the last. Parts of
-- one kind do not overlap, nor do windows, so a running sum of their numbers tells which one is open: `open` holds those of the kernel, the collective,
-- the copy and the frame, 31 bits each. Segments are also cut at the start of each collective, hidden or not. `block_ns` is where a path over the ranks
-- may last have come or left: the start of a collective, or the end of a segment in which the device only communicates; NULL before the first.
-- Depends on account_own, account_start, account_window, on_line.
-- Nothing without account_own + account_start + account_window.
CREATE OR REPLACE TEMP TABLE account_segment AS
WITH own AS NOT MATERIALIZED (
    SELECT *, part * CASE what WHEN 'kernel' THEN 9903520314283042199192993792 WHEN 'collective' THEN 4611686018427387904 ELSE 2147483648 END AS number
    FROM account_own
), edge AS (
    SELECT track, from_ns AS ts_ns, number, 1 AS begun, FALSE AS is_start FROM own
    UNION ALL SELECT track, until_ns, -number, NULL, FALSE FROM own
    UNION ALL SELECT track, from_ns, frame, NULL, FALSE FROM account_window
    UNION ALL SELECT track, until_ns, -frame, NULL, FALSE FROM account_window
    UNION ALL SELECT track, at_ns, 0, NULL, TRUE FROM account_start
), swept AS (
    SELECT track, ts_ns, is_start, lead(ts_ns) OVER () AS next_ns, sum(number) OVER (ROWS UNBOUNDED PRECEDING) AS open,
           count(begun) OVER (ROWS UNBOUNDED PRECEDING) AS begun
    FROM (FROM edge ORDER BY track, ts_ns)
), opened AS (
    SELECT *, CAST(open >> 93 AS BIGINT) AS kernel, CAST((open >> 62) & 2147483647 AS BIGINT) AS collective,
           CAST((open >> 31) & 2147483647 AS BIGINT) AS copy, CAST(open & 2147483647 AS BIGINT) AS frame
    FROM swept
), segment AS (
    SELECT *, next_ns > ts_ns AND frame > 0 AS is_segment,
           CASE WHEN kernel > 0 THEN 'compute' WHEN collective > 0 THEN 'comm' WHEN copy > 0 THEN 'copy' ELSE 'idle' END AS kind
    FROM opened
), left_behind AS (
    SELECT *, is_start OR lag(is_segment AND kind = 'comm') OVER () AS is_block FROM segment
), blocked AS (   -- what belongs to an earlier track is no BIGINT
    SELECT *, max(CASE WHEN is_block THEN on_line(track, ts_ns) END) OVER (ROWS UNBOUNDED PRECEDING) AS block FROM left_behind
)
SELECT track, frame, ts_ns AS from_ns, next_ns AS until_ns, kind,
       CASE WHEN kernel > 0 THEN kernel WHEN collective > 0 THEN collective WHEN copy > 0 THEN copy ELSE begun + 1 END AS part,
       TRY_CAST(block - on_line(track, 0) AS BIGINT) AS block_ns
FROM blocked WHERE is_segment;
