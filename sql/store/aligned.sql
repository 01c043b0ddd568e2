-- Aligns the collectives of all ranks, one row per rank: when the last rank started, and which one that is. Collectives count only if all were in
-- them at one time, by aligned clocks.
-- `ahead_ns`: how far the clock of the capture is ahead. `last_ns` is in the clock of the capture.
-- Depends on clock, job_collective.
-- Nothing without clock, job_collective.
CREATE OR REPLACE TEMP TABLE aligned AS
WITH timed AS (
    SELECT p.* REPLACE (p.start_ns - k.ahead_ns AS start_ns, p.end_ns - k.ahead_ns AS end_ns), p.start_ns AS own_start_ns, k.ahead_ns
    FROM job_collective AS p JOIN clock AS k USING (capture)
), met AS (
    SELECT job, step, meeting, ordinal, group_id, max(start_ns) AS last_ns, count(DISTINCT rank) = max(members) AS is_whole,
           arg_max({'rank': rank, 'device_id': device_id}, {'start_ns': start_ns, 'rank': -CAST(rank AS BIGINT), 'device_id': -CAST(device_id AS BIGINT)}) AS last
    FROM timed GROUP BY ALL HAVING count(DISTINCT rank) > 1 AND max(start_ns) <= min(end_ns)
)
SELECT t.job, t.capture, t.device_id, t.kind, t.group_name, t.own_start_ns AS start_ns, t.ahead_ns, min(m.last_ns + t.ahead_ns) AS last_ns,
       min(m.last) AS last, bool_and(m.is_whole) AS is_whole
FROM timed AS t JOIN met AS m
  ON m.job = t.job AND m.step IS NOT DISTINCT FROM t.step AND m.meeting = t.meeting AND m.ordinal = t.ordinal AND m.group_id = t.group_id
GROUP BY ALL;
