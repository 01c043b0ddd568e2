-- The critical path of each job (docs/design.md §5), as pieces of time on tracks (a rank's device): from the last end of the steps back to the latest
-- end of waiting on that track, then on at the rank that was waited for, at the moment when it started the collective; and so on, back to a start.
-- The steps of a job are walked one by one if no rank begins a step before all have ended the last one. Else the path leads through several steps,
-- so that no time counts twice. Where ranks have different steps there is no path: its time would be that of no known number of steps. Only jobs
-- whose clocks can be compared have a path: their ranks met in a collective, and their machines did, or they run on one machine. Where no machine is
-- named, ranks on devices of different numbers are taken to be on one.
-- A wait that ends otherwise, because a kernel hides the rest of it, stays on the path. Times are those of all clocks aligned; with `ahead_ns`
-- added they are those of the capture.
-- Depends on aligned, capture, clock, exposed, job_step, r_collective, r_window, shared_job.
-- Nothing without capture, clock, job_step, r_collective, r_window, shared_job.
CREATE OR REPLACE TEMP TABLE path_window AS
WITH timed AS (
    SELECT j.job, j.rank, m.host, w.capture, w.device_id, w.step, c.reference, c.is_own, c.ahead_ns, w.from_ns - c.ahead_ns AS from_ns,
           w.until_ns - c.ahead_ns AS until_ns
    FROM r_window AS w JOIN job_step AS j ON j.capture = w.capture AND j.step = w.step JOIN capture AS m ON m.capture = w.capture
    JOIN clock AS c ON c.capture = w.capture
    WHERE j.job IN (FROM shared_job) AND EXISTS (FROM r_collective AS r WHERE r.capture = w.capture AND r.device_id IS NOT DISTINCT FROM w.device_id AND r.end_ns > r.start_ns)
), torn AS (   -- a step that one rank ended before another one began it
    SELECT job FROM timed GROUP BY job, step HAVING max(from_ns) >= min(until_ns)
), uneven AS (
    SELECT job FROM timed GROUP BY job HAVING count(DISTINCT (rank, step)) <> count(DISTINCT rank) * count(DISTINCT step)
), unaligned AS (
    SELECT job FROM timed GROUP BY job, step HAVING count(DISTINCT reference) > 1
), comparable AS (
    SELECT job FROM aligned GROUP BY job HAVING count(DISTINCT capture) > 1
    UNION
    SELECT job FROM timed GROUP BY job
    HAVING count(DISTINCT rank) > 1 AND job NOT IN (FROM torn) AND (count(host) = count(*) AND count(DISTINCT host) = 1
                                         OR count(host) = 0 AND count(device_id) = count(*) AND count(DISTINCT device_id) = count(DISTINCT rank))
), step_of_job AS (
    SELECT job, step, min(from_ns) AS from_ns, max(until_ns) AS until_ns FROM timed GROUP BY ALL
), apart AS (
    SELECT *, coalesce(from_ns >= max(until_ns) OVER (PARTITION BY job ORDER BY from_ns, step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), TRUE) AS is_apart
    FROM step_of_job
), walked AS (
    SELECT job, step, count(CASE WHEN is_apart THEN 1 END) OVER (PARTITION BY job ORDER BY from_ns, step) AS walk FROM apart
), mixed AS (   -- steps of several windows, each by clocks of its own, seem to be at one time
    SELECT job FROM timed JOIN walked USING (job, step) GROUP BY job, walk HAVING bool_or(is_own) AND count(DISTINCT reference) > 1
)
SELECT t.* EXCLUDE (reference, is_own), w.walk, dense_rank() OVER (ORDER BY t.job, w.walk, t.rank, t.device_id) AS track
FROM timed AS t JOIN walked AS w USING (job, step) WHERE t.job IN (FROM comparable) AND t.job NOT IN (FROM unaligned) AND t.job NOT IN (FROM mixed) AND t.job NOT IN (FROM uneven);

CREATE OR REPLACE TEMP TABLE path_piece AS
WITH RECURSIVE arrow AS (   -- from the end of waiting on a track to the rank that was waited for
    SELECT t.track, e.cut_ns - t.ahead_ns AS at_ns, min(o.track) AS to_track
    FROM exposed AS e
    JOIN path_window AS t ON t.capture = e.capture AND t.device_id IS NOT DISTINCT FROM e.device_id AND t.step = e.step
    JOIN path_window AS o ON o.job = t.job AND o.walk = t.walk AND o.rank = e.last.rank AND o.device_id IS NOT DISTINCT FROM e.last.device_id
    WHERE e.cut_ns > e.from_ns AND e.cut_ns = e.last_ns AND o.track <> t.track AND e.cut_ns - t.ahead_ns BETWEEN o.from_ns AND o.until_ns
    GROUP BY ALL
), last AS (
    SELECT arg_max(track, {'until_ns': until_ns, 'track': -track}) AS track, max(until_ns) AS at_ns FROM path_window GROUP BY job, walk
), arrival AS (
    FROM last UNION SELECT to_track, at_ns FROM arrow
), leg AS (   -- from an arrival back to the end of the last waiting before it
    SELECT a.track, w.at_ns AS from_ns, a.at_ns, w.to_track FROM arrival AS a ASOF LEFT JOIN arrow AS w ON w.track = a.track AND a.at_ns > w.at_ns
), walk AS (
    FROM last
    UNION ALL
    SELECT l.to_track, l.from_ns FROM walk AS w JOIN leg AS l ON l.track = w.track AND l.at_ns = w.at_ns WHERE l.to_track IS NOT NULL
)
SELECT l.track, coalesce(l.from_ns, f.from_ns) AS from_ns, l.at_ns AS until_ns, l.from_ns IS NULL AS is_first
FROM walk AS w JOIN leg AS l ON l.track = w.track AND l.at_ns = w.at_ns
JOIN (SELECT track, min(from_ns) AS from_ns FROM path_window GROUP BY track) AS f ON f.track = w.track;
