-- Where the time of a step goes: the account of the slowest device, per member of a role and step (docs/design.md §5). The rows sum to the step.
-- Kernels are named by their type, if known. Launches are summed.
-- Depends on r_account, shown_device, shown_divisor.
WITH exact AS (   -- sums of integers, which do not depend on the order of rows
    SELECT a.kind, CASE WHEN a.kind = 'wait' THEN a.subject WHEN a.kind <> 'launch' THEN coalesce(a.op_type, a.subject) END AS subject, times, sum(a.ns) AS ns, sum(a.pieces) AS pieces
    FROM r_account AS a
    JOIN shown_device AS d ON d.capture = a.capture AND d.step = a.step AND d.device_id IS NOT DISTINCT FROM a.device_id
    JOIN shown_divisor AS v ON v.capture = a.capture
    GROUP BY ALL
), account AS (
    SELECT kind, subject, sum(ns / times ORDER BY times) / 1e6 AS total_ms, sum(pieces / times ORDER BY times) AS pieces FROM exact GROUP BY kind, subject
)
SELECT kind, subject, total_ms, 100.0 * total_ms / (SELECT sum(total_ms ORDER BY kind, subject) FROM account) AS share_percent, pieces
FROM account ORDER BY total_ms DESC, kind, subject;
