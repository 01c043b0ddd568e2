-- Versions and settings in which the runs of one side differ, with the value of each run that has one.
-- Depends on c_capture, c_env.
-- Nothing without c_capture + c_env.
WITH told AS (
    FROM c_env
    UNION SELECT side, run, 'world_size', CAST(world_size AS VARCHAR) FROM c_capture AS c
    WHERE world_size IS NOT NULL AND NOT EXISTS (FROM c_env AS e WHERE e.key = 'world_size' AND e.side = c.side AND e.run = c.run)
    UNION SELECT side, run, 'profiler.level', level FROM c_capture AS c
    WHERE level IS NOT NULL AND NOT EXISTS (FROM c_env AS e WHERE e.key = 'profiler.level' AND e.side = c.side AND e.run = c.run)
), one AS (
    SELECT side, run, key, string_agg(value, ', ' ORDER BY value) AS value FROM told GROUP BY ALL
)
SELECT side, run, key, value FROM one
WHERE (side, key) IN (SELECT (side, key) FROM one GROUP BY side, key HAVING count(DISTINCT value) > 1)
ORDER BY side, key, run;
