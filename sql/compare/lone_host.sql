-- If only one side recorded when operators of the framework ran, or calls of the runtime, or copies, what the device waits for is told on that
-- side alone, and the other side's time for it stands elsewhere. So all time in which the device runs nothing becomes one row on both sides, `free`;
-- copies too, if they are why. Sums without times, as the profiler writes, tell nothing of it.
-- Captures without kernels keep theirs: whether their device runs anything is unknown.
-- Depends on c_account, c_api, c_kernel, c_operator, c_path, c_time.
-- Runs after user_phase.
CREATE TABLE lone_host AS
WITH copied AS (
    SELECT side, run, capture, count(exposed_copy_ns) > 0 AS is_known FROM c_time WHERE free_ns IS NOT NULL GROUP BY ALL
), recorded AS (
    SELECT k.side, k.side IN (SELECT side FROM c_operator WHERE NOT is_sum) AS operators,
           k.side IN (SELECT side FROM c_api WHERE layer <> 'framework' AND NOT is_sum) AS calls,
           coalesce((SELECT bool_and(is_known) FROM copied AS c WHERE c.side = k.side), FALSE) AS copies
    FROM (SELECT DISTINCT side FROM c_kernel) AS k
)
SELECT min(operators) <> max(operators) AS operators, min(calls) <> max(calls) AS calls, min(copies) <> max(copies) AS copies
FROM recorded HAVING count(*) = 2 AND (min(operators) <> max(operators) OR min(calls) <> max(calls) OR min(copies) <> max(copies));
CREATE TABLE idle_kind AS
SELECT DISTINCT kind FROM (SELECT kind FROM c_account UNION ALL SELECT kind FROM c_path)
WHERE EXISTS (FROM lone_host) AND kind NOT IN ('compute', 'wait', 'transfer', 'comm', 'between steps', 'late start')
  AND (kind <> 'copy' OR EXISTS (FROM lone_host WHERE copies));
CREATE TABLE with_kernels AS
SELECT DISTINCT side, run, capture FROM c_account WHERE kind = 'compute' AND EXISTS (FROM lone_host);
UPDATE c_account SET kind = 'free', subject = NULL, op_type = NULL
WHERE kind IN (SELECT kind FROM idle_kind) AND (side, run, capture) IN (SELECT (side, run, capture) FROM with_kernels);
UPDATE c_path SET kind = 'free', subject = NULL, op_type = NULL
WHERE kind IN (SELECT kind FROM idle_kind) AND (side, run, capture) IN (SELECT (side, run, capture) FROM with_kernels);
