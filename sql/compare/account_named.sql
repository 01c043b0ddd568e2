-- The accounts of both sides with the names by which their rows meet. A kernel is named by its type, or by its own name if a side has no
-- types (Level0).
-- Depends on c_account, c_capture, c_divisor.
CREATE TABLE c_account_named AS
WITH typed AS (
    SELECT count(DISTINCT side) = (SELECT count(DISTINCT side) FROM c_account WHERE kind = 'compute') AS on_both FROM c_account WHERE op_type IS NOT NULL
)
SELECT a.kind, a.phase, coalesce(CASE WHEN (SELECT on_both FROM typed) THEN a.op_type END, a.subject, a.kind) AS name, a.side, c.member, d.divisor,
       a.host_op, a.core_type, a.input_dtypes, a.pieces, a.ns
FROM c_account AS a JOIN c_divisor AS d USING (side, run, capture) JOIN c_capture AS c USING (side, run, capture)
WHERE d.domain = 'account';
