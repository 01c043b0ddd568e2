-- The number that the sum of a capture is divided by. With it, the sum over all captures is the value of the run: the sum over roles and
-- discrete folders of the mean over their own members of the mean over steps. Processes of different roles are never averaged together. A
-- member counts only for what it measured: a rank whose profile has no kernels does not count for kernels.
-- Depends on r_kernel, shown_device.
CREATE OR REPLACE TEMP TABLE shown_divisor AS
WITH held AS (
    SELECT role, folder, member, count(DISTINCT step) AS steps,
           count(DISTINCT step) FILTER (WHERE compute_ns IS NOT NULL OR capture IN (SELECT capture FROM r_kernel)) AS kernel_steps,
           count(DISTINCT step) FILTER (WHERE comm_ns IS NOT NULL) AS comm_steps
    FROM shown_device GROUP BY ALL
), sized AS (
    SELECT *, count(*) OVER same AS members, count(*) FILTER (WHERE kernel_steps > 0) OVER same AS kernel_members,
           count(*) FILTER (WHERE comm_steps > 0) OVER same AS comm_members
    FROM held WINDOW same AS (PARTITION BY role, folder)
)
SELECT DISTINCT d.capture, CAST(s.steps * s.members AS DOUBLE) AS times,
       nullif(CAST(s.kernel_steps * s.kernel_members AS DOUBLE), 0) AS kernel_times,
       nullif(CAST(s.comm_steps * s.comm_members AS DOUBLE), 0) AS comm_times
FROM shown_device AS d JOIN sized AS s USING (role, folder, member);
