-- The own part of each device task: what no earlier task of its kind on the track covers. Parts of one kind do not overlap. In captures without a
-- device, the thread that runs the step takes its place, and there are no parts. `key` is that of a kernel in kernel_text, else -1.
-- Depends on account_track, capture, kernel_key, placed.
-- Nothing without account_track, placed.
CREATE OR REPLACE TEMP TABLE account_own AS
WITH track AS (
    SELECT * FROM account_track WHERE capture NOT IN (SELECT capture FROM capture WHERE executor = 'host')
), task AS (
    SELECT t.capture, t.track, p.what, p.id, p.phase, p.start_ns, p.end_ns,
           max(p.end_ns) OVER (PARTITION BY t.track, p.what ORDER BY p.start_ns, p.end_ns, p.id
                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM placed AS p JOIN track AS t
      ON t.capture = p.capture AND t.device_id IS NOT DISTINCT FROM p.device_id AND (t.step IS NULL OR t.step = p.step)
    WHERE p.end_ns > p.start_ns
)
SELECT t.track, t.what, t.id, t.phase, coalesce(k.key, -1) AS key, greatest(t.start_ns, coalesce(t.covered_ns, t.start_ns)) AS from_ns, t.end_ns AS until_ns
FROM task AS t LEFT JOIN kernel_key AS k ON k.capture = t.capture AND k.id = CASE WHEN t.what = 'kernel' THEN t.id END
WHERE t.end_ns > coalesce(t.covered_ns, t.start_ns);
