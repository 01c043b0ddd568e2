-- Ranks that are left out because they do not mark steps, while others do.
-- Depends on c_unmarked.
-- Nothing without c_unmarked.
SELECT side, run, list(DISTINCT name ORDER BY name) AS members FROM c_unmarked GROUP BY side, run ORDER BY side, run;
