-- Section account: where the time of a step goes. A kernel is named by its type, or by its own name if a side has no types (Level0).
-- Depends on c_account, c_divisor, side_mean.
WITH typed AS (
    SELECT count(DISTINCT side) = (SELECT count(DISTINCT side) FROM c_account WHERE kind = 'compute') AS on_both FROM c_account WHERE op_type IS NOT NULL
), exact AS (
    SELECT kind, phase, coalesce(CASE WHEN (SELECT on_both FROM typed) THEN op_type END, subject, kind) AS name, side, divisor, sum(pieces) AS pieces, sum(ns) AS ns
    FROM c_account JOIN c_divisor USING (side, run, capture) WHERE domain = 'account' GROUP BY ALL
)
SELECT name, kind, phase, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(pieces, divisor, side = 'baseline') AS baseline_pieces, side_mean(pieces, divisor, side = 'new') AS new_pieces
FROM exact GROUP BY kind, phase, name;
