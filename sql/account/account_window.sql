-- The time of each step that the account divides. A marked step lasts from its start to its end on the host. Everything that the device runs in
-- this time counts, whichever step launched it. A step without marks lasts from its first device task to its last; only its own tasks count.
-- `frame` numbers the windows. Those of one track do not overlap.
-- Depends on account_track, placed, step.
-- Nothing without account_track.
CREATE OR REPLACE TEMP TABLE account_window AS
WITH marked AS (
    SELECT t.track, s.step, s.end_ns AS until_ns,
           greatest(s.start_ns, coalesce(max(s.end_ns) OVER (PARTITION BY t.track ORDER BY s.start_ns, s.end_ns, s.step
                                         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), s.start_ns)) AS from_ns
    FROM account_track AS t JOIN step AS s ON s.capture = t.capture AND s.start_ns IS NOT NULL
    WHERE t.step IS NULL
)
SELECT row_number() OVER (ORDER BY track, from_ns) AS frame, *
FROM (
    SELECT track, step, from_ns, until_ns FROM marked WHERE until_ns > from_ns
    UNION ALL
    SELECT t.track, t.step, min(p.start_ns), max(p.end_ns)
    FROM account_track AS t JOIN placed AS p ON p.capture = t.capture AND p.device_id IS NOT DISTINCT FROM t.device_id AND p.step = t.step
    WHERE p.what <> 'copy'
    GROUP BY t.track, t.step HAVING max(p.end_ns) > min(p.start_ns)
);
