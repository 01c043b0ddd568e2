-- Where the time of the whole job's step goes: the account of the critical path over its ranks, as a mean over steps (docs/design.md §5), and on
-- which ranks. No rows if there is no path. Roles and discrete folders are summed. Kernels are named by their type, if known. Launches are summed.
-- Depends on capture, r_path.
WITH placed AS (
    SELECT p.*, coalesce(c.role, '') AS role, coalesce(c.phase, '') AS folder, coalesce(c.replica, -1) AS replica, c.rank
    FROM r_path AS p JOIN capture AS c ON c.capture = p.capture
), counted AS (
    SELECT role, folder, count(DISTINCT (replica, step)) AS times FROM placed GROUP BY ALL
), exact AS (   -- sums of integers, which do not depend on the order of rows
    SELECT kind, CASE WHEN kind IN ('wait', 'late start') THEN subject WHEN kind <> 'launch' THEN coalesce(op_type, subject) END AS subject,
           rank, times, sum(ns) AS ns, sum(pieces) AS pieces
    FROM placed JOIN counted USING (role, folder) GROUP BY ALL
), named AS (
    SELECT kind, subject, sum(ns / times ORDER BY times, rank) / 1e6 AS total_ms, sum(pieces / times ORDER BY times, rank) AS pieces,
           arg_max(rank, {'ns': ns, 'rank': -CAST(rank AS BIGINT)}) AS mostly_on_rank
    FROM exact GROUP BY kind, subject
)
SELECT kind, subject, total_ms, 100.0 * total_ms / (SELECT sum(total_ms ORDER BY kind, subject) FROM named) AS share_percent, pieces, mostly_on_rank
FROM named ORDER BY total_ms DESC, kind, subject;
