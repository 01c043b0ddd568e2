-- How many captures of each role and discrete folder a side has per run.
-- Depends on c_capture.
-- Nothing without c_capture.
SELECT role, folder, count(*) FILTER (WHERE side = 'baseline') / max(baseline_runs) AS baseline,
       count(*) FILTER (WHERE side = 'new') / max(new_runs) AS new
FROM c_capture, (SELECT count(DISTINCT run) FILTER (WHERE side = 'baseline') AS baseline_runs,
                        count(DISTINCT run) FILTER (WHERE side = 'new') AS new_runs FROM c_capture)
GROUP BY role, folder ORDER BY role, folder;
