-- How many captures of each role and discrete folder a side has per run, and of how many the times on the device are known.
-- Depends on c_capture, c_time.
-- Nothing without c_capture.
WITH timed AS (
    SELECT DISTINCT side, run, capture FROM c_time WHERE compute_ns IS NOT NULL
)
SELECT role, folder, count(*) FILTER (WHERE side = 'baseline') / max(baseline_runs) AS baseline,
       count(*) FILTER (WHERE side = 'new') / max(new_runs) AS new,
       count(t.capture) FILTER (WHERE side = 'baseline') / max(baseline_runs) AS baseline_timed,
       count(t.capture) FILTER (WHERE side = 'new') / max(new_runs) AS new_timed
FROM c_capture LEFT JOIN timed AS t USING (side, run, capture),
     (SELECT count(DISTINCT run) FILTER (WHERE side = 'baseline') AS baseline_runs,
             count(DISTINCT run) FILTER (WHERE side = 'new') AS new_runs FROM c_capture)
GROUP BY role, folder ORDER BY role, folder;
