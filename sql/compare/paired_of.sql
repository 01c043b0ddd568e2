-- paired_of(named): rows of an account of both sides, paired. `host_op`, `core_type` and `input_dtypes` are those of the kernels with the most time
-- of that name; the latter two are NULL if these do not hold four fifths of it. `named` names a table with the columns of named_of.
-- Depends on side_mean.
-- Run by name: on each connection, because a temporary macro belongs to one.
CREATE OR REPLACE TEMP MACRO paired_of(named) AS TABLE
WITH exact AS (
    SELECT kind, phase, name, side, divisor, sum(pieces) AS pieces, sum(ns) AS ns FROM query_table(named) GROUP BY ALL
), made AS (
    SELECT kind, phase, name, side, host_op, core_type, input_dtypes, sum(ns) AS ns FROM query_table(named) WHERE kind = 'compute' GROUP BY ALL
), main AS (
    SELECT kind, phase, name, side, arg_max({'host_op': host_op, 'core_type': core_type, 'input_dtypes': input_dtypes},
                                            {'ns': ns, 'of': [host_op, core_type, input_dtypes]}) AS of_most,
           max(ns) >= 0.8 * sum(ns) AS is_clear
    FROM made GROUP BY ALL
)
SELECT e.name, e.kind, e.phase, bool_or(e.side = 'baseline') AS in_baseline, bool_or(e.side = 'new') AS in_new,
       side_mean(e.ns, e.divisor, e.side = 'baseline') AS baseline_ns, side_mean(e.ns, e.divisor, e.side = 'new') AS new_ns,
       side_mean(e.pieces, e.divisor, e.side = 'baseline') AS baseline_pieces, side_mean(e.pieces, e.divisor, e.side = 'new') AS new_pieces,
       min(m.of_most.host_op) FILTER (WHERE e.side = 'baseline') AS baseline_host_op,
       min(m.of_most.host_op) FILTER (WHERE e.side = 'new') AS new_host_op,
       min(m.of_most.core_type) FILTER (WHERE e.side = 'baseline' AND m.is_clear) AS baseline_core_type,
       min(m.of_most.core_type) FILTER (WHERE e.side = 'new' AND m.is_clear) AS new_core_type,
       min(m.of_most.input_dtypes) FILTER (WHERE e.side = 'baseline' AND m.is_clear) AS baseline_input_dtypes,
       min(m.of_most.input_dtypes) FILTER (WHERE e.side = 'new' AND m.is_clear) AS new_input_dtypes
FROM exact AS e LEFT JOIN main AS m ON m.kind = e.kind AND m.phase IS NOT DISTINCT FROM e.phase AND m.name = e.name AND m.side = e.side
GROUP BY e.kind, e.phase, e.name;
