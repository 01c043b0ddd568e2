-- The own part of each device task: what no earlier task of its kind on the track covers. Parts of one kind do not overlap. In captures without a device, the thread that runs the step takes its place, and there are no parts.
-- Depends on account_track, capture, placed.
CREATE OR REPLACE TEMP TABLE account_own AS
WITH track AS (
    SELECT * FROM account_track WHERE capture NOT IN (SELECT capture FROM capture WHERE executor = 'host')
), task AS (
    SELECT t.track, p.what, p.id, p.start_ns, p.end_ns,
           max(p.end_ns) OVER (PARTITION BY t.track, p.what ORDER BY p.start_ns, p.end_ns, p.id
                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM placed AS p JOIN track AS t
      ON t.capture = p.capture AND t.device_id IS NOT DISTINCT FROM p.device_id AND (t.step IS NULL OR t.step = p.step)
    WHERE p.end_ns > p.start_ns
)
SELECT track, what, id, greatest(start_ns, coalesce(covered_ns, start_ns)) AS from_ns, end_ns AS until_ns
FROM task WHERE end_ns > coalesce(covered_ns, start_ns);
