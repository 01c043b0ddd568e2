-- The own part of each device task: what no earlier task of its kind on the track covers. Parts of one kind do not overlap. In captures without a
-- device, the thread that runs the step takes its place, and there are no parts. `key` is that of a kernel in kernel_text, else -1. `part` numbers the
-- parts by track and start; of those that begin together, the kernel comes first.
-- Depends on account_track, capture, kernel_key, on_line, placed.
-- Nothing without account_track, placed.
CREATE OR REPLACE TEMP TABLE account_own AS
WITH track AS (
    SELECT * FROM account_track WHERE capture NOT IN (SELECT capture FROM capture WHERE executor = 'host')
), task AS (   -- each kind of a track has a line of its own
    SELECT t.capture, t.track, p.what, p.id, p.phase, p.start_ns, p.end_ns, 4 * t.track + CASE p.what WHEN 'kernel' THEN 0 WHEN 'collective' THEN 1 ELSE 2 END AS line
    FROM placed AS p JOIN track AS t
      ON t.capture = p.capture AND t.device_id IS NOT DISTINCT FROM p.device_id AND (t.step IS NULL OR t.step = p.step)
    WHERE p.end_ns > p.start_ns
), swept AS (
    SELECT *, max(on_line(line, end_ns)) OVER (ROWS UNBOUNDED PRECEDING) AS upto_ns FROM (FROM task ORDER BY line, start_ns, end_ns, id)
), covered AS (   -- what belongs to an earlier line is below every time
    SELECT *, coalesce(lag(upto_ns) OVER () - on_line(line, 0), start_ns) AS covered_ns FROM swept
)
SELECT row_number() OVER () AS part, *
FROM (
    SELECT t.track, t.what, t.id, t.phase, coalesce(k.key, -1) AS key, CAST(greatest(t.start_ns, t.covered_ns) AS BIGINT) AS from_ns, t.end_ns AS until_ns
    FROM covered AS t LEFT JOIN kernel_key AS k ON k.capture = t.capture AND k.id = CASE WHEN t.what = 'kernel' THEN t.id END
    WHERE t.end_ns > t.covered_ns
    ORDER BY track, from_ns, what DESC
);
