-- When each run started, and how it ended.
-- Depends on c_run.
-- Nothing without c_run.
SELECT side, run, started_ns, status FROM c_run ORDER BY side, run;
