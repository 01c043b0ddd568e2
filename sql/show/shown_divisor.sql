-- By what the sum of a capture is divided, so that the sum over all captures is the run's value: the sum over roles and discrete folders of the
-- mean over their own members of the mean over steps. Processes of different roles are never averaged together. Depends on shown_device.
CREATE OR REPLACE TEMP TABLE shown_divisor AS
WITH held AS (
    SELECT role, folder, member, count(DISTINCT step) AS steps FROM shown_device GROUP BY ALL
), sized AS (
    SELECT *, count(*) OVER (PARTITION BY role, folder) AS members FROM held
)
SELECT DISTINCT d.capture, CAST(s.steps * s.members AS DOUBLE) AS times FROM shown_device AS d JOIN sized AS s USING (role, folder, member);
