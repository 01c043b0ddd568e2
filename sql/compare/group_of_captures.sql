-- How many captures of each role and discrete folder a side has per run, of how many the times on the device are known, and of how many they are
-- not although another capture of the same member has some, or those of another run, if their run has some times. And how many each member has of
-- a step: where one side has fewer, they may be lost, or less work.
-- Depends on c_capture, c_time.
-- Nothing without c_capture.
WITH timed AS (
    SELECT DISTINCT side, run, capture FROM c_time WHERE compute_ns IS NOT NULL
), of_step AS (
    SELECT side, role, folder, count(DISTINCT (run, capture, step)) / count(DISTINCT (run, member, step)) AS each
    FROM c_capture JOIN c_time USING (side, run, capture) GROUP BY side, role, folder
), captured AS (
    SELECT c.side, c.run, c.role, c.folder, t.capture IS NOT NULL AS is_timed,
           NOT is_timed AND (
               bool_or(is_timed) OVER (PARTITION BY c.side, c.run, c.role, c.folder, c.member)
               OR bool_or(is_timed) OVER (PARTITION BY c.side, c.role, c.folder) AND bool_or(is_timed) OVER (PARTITION BY c.side, c.run)
                   AND NOT bool_or(is_timed) OVER (PARTITION BY c.side, c.run, c.role, c.folder)
           ) AS is_lost
    FROM c_capture AS c LEFT JOIN timed AS t USING (side, run, capture)
)
SELECT role, folder, count(*) FILTER (WHERE side = 'baseline') / max(baseline_runs) AS baseline,
       count(*) FILTER (WHERE side = 'new') / max(new_runs) AS new,
       count(*) FILTER (WHERE side = 'baseline' AND is_timed) / max(baseline_runs) AS baseline_timed,
       count(*) FILTER (WHERE side = 'new' AND is_timed) / max(new_runs) AS new_timed,
       count(*) FILTER (WHERE side = 'baseline' AND is_lost) / max(baseline_runs) AS baseline_lost,
       count(*) FILTER (WHERE side = 'new' AND is_lost) / max(new_runs) AS new_lost,
       (SELECT each FROM of_step AS o WHERE o.side = 'baseline' AND o.role = c.role AND o.folder = c.folder) AS baseline_each,
       (SELECT each FROM of_step AS o WHERE o.side = 'new' AND o.role = c.role AND o.folder = c.folder) AS new_each
FROM captured AS c, (SELECT greatest(count(DISTINCT run) FILTER (WHERE side = 'baseline'), 1) AS baseline_runs,
                       greatest(count(DISTINCT run) FILTER (WHERE side = 'new'), 1) AS new_runs FROM c_capture)
GROUP BY role, folder ORDER BY role, folder;
