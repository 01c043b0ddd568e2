-- If only one side recorded the operators of the framework, or only one the calls of the runtime, what the device waits for is told on that side
-- alone, and the other side's time for it stands elsewhere. So all time in which the device runs nothing becomes one row on both sides, `free`.
-- Captures without kernels keep theirs: whether their device runs anything is unknown.
-- Depends on c_account, c_api, c_kernel, c_operator, c_path.
-- Runs after user_phase.
CREATE TABLE lone_host AS
WITH recorded AS (
    SELECT side, side IN (SELECT side FROM c_operator) AS operators, side IN (SELECT side FROM c_api WHERE layer <> 'framework') AS calls
    FROM c_kernel GROUP BY side
)
SELECT min(operators) <> max(operators) AS operators, min(calls) <> max(calls) AS calls
FROM recorded HAVING count(*) = 2 AND (min(operators) <> max(operators) OR min(calls) <> max(calls));
CREATE TABLE idle_kind AS
SELECT DISTINCT kind FROM (SELECT kind FROM c_account UNION ALL SELECT kind FROM c_path)
WHERE EXISTS (FROM lone_host) AND kind NOT IN ('compute', 'wait', 'transfer', 'comm', 'copy', 'between steps', 'late start');
CREATE TABLE with_kernels AS
SELECT DISTINCT side, run, capture FROM c_account WHERE kind = 'compute' AND EXISTS (FROM lone_host);
UPDATE c_account SET kind = 'free', subject = NULL
WHERE kind IN (SELECT kind FROM idle_kind) AND (side, run, capture) IN (SELECT (side, run, capture) FROM with_kernels);
UPDATE c_path SET kind = 'free', subject = NULL
WHERE kind IN (SELECT kind FROM idle_kind) AND (side, run, capture) IN (SELECT (side, run, capture) FROM with_kernels);
