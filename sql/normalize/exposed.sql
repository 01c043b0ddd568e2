-- The part of each collective that no kernel covers, and the part of each copy that neither a kernel nor a collective covers. The covering
-- intervals are stored as disjoint islands, each with the length covered before it. The length covered up to any time t is then an ASOF
-- lookup, and the overlap of an interval is the difference of two lookups.
-- Depends on coverage, same_key.
-- Nothing without coverage.
CREATE OR REPLACE TEMP TABLE exposed AS
WITH piece AS (   -- covering intervals: kernels for collectives, kernels and collectives for copies
    SELECT FALSE AS of_copies, capture, device_id, step, own_start_ns AS start_ns, own_end_ns AS end_ns FROM coverage
    WHERE what = 'kernel' AND busy_ns > 0
    UNION ALL
    SELECT TRUE, capture, device_id, step, start_ns, end_ns FROM (
        SELECT capture, device_id, step, own_end_ns AS end_ns,
               greatest(own_start_ns, coalesce(max(own_end_ns) OVER (
                   PARTITION BY capture, device_id, step ORDER BY own_start_ns, own_end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
               ), own_start_ns)) AS start_ns
        FROM coverage WHERE what IN ('kernel', 'collective') AND busy_ns > 0
          AND EXISTS (FROM coverage WHERE what = 'copy')
    ) WHERE end_ns > start_ns
), island AS (
    SELECT *, CAST(coalesce(sum(end_ns - start_ns) OVER (PARTITION BY of_copies, capture, device_id, step ORDER BY start_ns, end_ns
                                                         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS BIGINT) AS before_ns
    FROM piece
), span AS (
    SELECT capture, device_id, step, min(own_start_ns) AS first_ns, max(own_end_ns) AS last_ns FROM coverage
    WHERE what IN ('kernel', 'collective') GROUP BY ALL
), target AS (
    SELECT c.what, c.id, c.capture, c.device_id, c.step,
           CASE WHEN c.what = 'copy' THEN greatest(c.own_start_ns, s.first_ns) ELSE c.own_start_ns END AS start_ns,
           CASE WHEN c.what = 'copy' THEN least(c.own_end_ns, s.last_ns) ELSE c.own_end_ns END AS end_ns
    FROM coverage AS c LEFT JOIN span AS s
      ON s.capture = c.capture AND s.device_id IS NOT DISTINCT FROM c.device_id AND s.step IS NOT DISTINCT FROM c.step
    WHERE c.what <> 'kernel' AND c.busy_ns > 0
), edge AS (   -- both ends of each task: uncovered length up to the end minus uncovered length up to the start
    SELECT what, id, capture, device_id, step, end_ns AS ts_ns, 1 AS sign FROM target WHERE end_ns > start_ns
    UNION ALL
    SELECT what, id, capture, device_id, step, start_ns, -1 FROM target WHERE end_ns > start_ns
)
SELECT e.capture, e.what, e.id,
       CAST(sum(e.sign * (e.ts_ns - coalesce(i.before_ns + least(i.end_ns, e.ts_ns) - i.start_ns, 0))) AS BIGINT) AS exposed_ns
FROM edge AS e ASOF LEFT JOIN island AS i
  ON i.of_copies = (e.what = 'copy') AND i.capture = e.capture AND same_key(i.device_id, e.device_id) AND same_key(i.step, e.step)
 AND e.ts_ns >= i.start_ns
GROUP BY e.capture, e.what, e.id;
