-- The accounts of the critical paths of both sides, with names that meet. Captures of a role and folder without a path (one rank alone) count by
-- their own account. Empty if a run has no path at all, or if only one side marks its steps: the job's step then has two meanings. Empty also if
-- the kernels of a rank that communicates are unknown on one side only: its account lacks them, and its span ends with its last collective. Empty
-- also if other ranks of a job of the same size were profiled: those that are missing on one side are waited for on the other.
-- Depends on c_account, c_account_divided, c_capture, c_divisor, c_path, c_time, named_of.
-- Nothing without c_capture, c_divisor, c_path.
-- Runs after uneven, uneven_sums.
CREATE TABLE c_path_divided AS
WITH unmeasured AS (
    SELECT t.side, list_sort(list(DISTINCT c.member)) AS members FROM c_time AS t JOIN c_capture AS c USING (side, run, capture)
    WHERE t.compute_ns IS NULL AND t.comm_ns > 0 GROUP BY t.side
), joined AS (   -- who waits for whom is known of the members that were profiled
    SELECT t.side, list_sort(list(DISTINCT c.member)) AS members, max(c.world_size) AS world_size
    FROM c_time AS t JOIN c_capture AS c USING (side, run, capture) WHERE t.comm_ns > 0 GROUP BY t.side, t.run
), comparable AS (   -- one row, or none
    SELECT DISTINCT TRUE FROM c_path
    WHERE (SELECT count(DISTINCT side) = 2 FROM c_path)
      AND (SELECT count(DISTINCT (side, run)) FROM c_path) = (SELECT count(DISTINCT (side, run)) FROM c_account) AND (SELECT count(DISTINCT side) <> 1 FROM c_time WHERE step_ns IS NOT NULL)
      AND (SELECT count(*) <> 1 AND count(DISTINCT members) < 2 FROM unmeasured)
      AND (SELECT count(DISTINCT members) < 2 OR count(DISTINCT world_size) = 2 OR max(len(members)) = 1 FROM joined)
), placed AS (
    SELECT p.*, c.role, c.folder, coalesce(c.replica, -1) AS replica FROM c_path AS p JOIN c_capture AS c USING (side, run, capture)
), pathed AS (
    SELECT side, run, role, folder, count(DISTINCT (replica, step)) AS steps FROM placed GROUP BY ALL
), replicated AS (
    SELECT side, max(runs) AS runs FROM c_divisor WHERE domain = 'account' GROUP BY side
)
SELECT p.side, p.run, p.capture, p.phase, p.kind, p.subject, p.op_type, p.host_op, p.core_type, p.input_dtypes, p.pieces, p.ns, '' AS member,
       CAST(s.steps * r.runs AS BIGINT) AS divisor
FROM placed AS p JOIN pathed AS s USING (side, run, role, folder) JOIN replicated AS r USING (side) CROSS JOIN comparable
UNION ALL
SELECT a.side, a.run, a.capture, a.phase, a.kind, a.subject, a.op_type, a.host_op, a.core_type, a.input_dtypes, a.pieces, a.ns, '', a.divisor
FROM c_account_divided AS a JOIN c_capture AS c USING (side, run, capture) CROSS JOIN comparable
WHERE a.domain = 'account' AND (side, run, c.role, c.folder) NOT IN (SELECT (side, run, role, folder) FROM pathed);
CREATE TABLE c_path_named AS FROM named_of('c_path_divided');
