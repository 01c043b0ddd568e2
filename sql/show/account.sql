-- Where the time of a step goes: the account of the slowest device, per member of a role and step (docs/design.md §5). The rows sum to the step.
-- Kernels are named by their type, if known.
-- Depends on r_account, shown_device, shown_divisor.
WITH account AS (
    SELECT a.kind, coalesce(a.op_type, a.subject) AS subject, sum(a.ns / times) / 1e6 AS total_ms, sum(a.pieces / times) AS pieces
    FROM r_account AS a
    JOIN shown_device AS d ON d.capture = a.capture AND d.step = a.step AND d.device_id IS NOT DISTINCT FROM a.device_id
    JOIN shown_divisor AS v ON v.capture = a.capture
    GROUP BY a.kind, coalesce(a.op_type, a.subject)
)
SELECT kind, subject, total_ms, 100.0 * total_ms / (SELECT sum(total_ms) FROM account) AS share_percent, pieces
FROM account ORDER BY total_ms DESC, kind, subject;
