-- Captures of one job meet in a step by their place in time: `job_step`. `shared_job`: those with several ranks.
-- Depends on capture, r_collective.
-- Nothing without capture, r_collective.
CREATE OR REPLACE TEMP TABLE job_step AS
SELECT capture, step, rank, dense_rank() OVER (ORDER BY role, folder, replica, place) AS job
FROM (
    SELECT c.capture, c.step, m.rank, coalesce(m.role, '') AS role, coalesce(m.phase, '') AS folder, coalesce(m.replica, -1) AS replica,
           dense_rank() OVER (PARTITION BY m.role, m.phase, m.replica, m.rank, c.step ORDER BY m.ordinal) AS place
    FROM (SELECT DISTINCT capture, step FROM r_collective) AS c JOIN capture AS m ON m.capture = c.capture
    WHERE m.rank IS NOT NULL
);
CREATE OR REPLACE TEMP TABLE shared_job AS
SELECT job FROM job_step GROUP BY job HAVING count(DISTINCT rank) > 1;
