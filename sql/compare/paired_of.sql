-- paired_of(named): rows of an account of both sides, paired. `host_op`, `core_type` and `input_dtypes` are each that of the kernels
-- with four fifths of the time of that name; NULL if there is none. Data types are compared by which ones there are: a matrix product with a bias has
-- one input more than one without. `named` names a table with the columns of named_of.
-- Depends on side_mean, types_of.
-- Run by name: once, before all others.
CREATE OR REPLACE MACRO paired_of(named) AS TABLE
WITH exact AS (
    SELECT kind, phase, name, side, divisor, sum(pieces) AS pieces, sum(ns) AS ns FROM query_table(named) GROUP BY ALL
), made AS (
    SELECT kind, phase, name, side, host_op, core_type, input_dtypes, sum(ns) AS ns FROM query_table(named) WHERE kind = 'compute' GROUP BY ALL
), valued AS (
    SELECT kind, phase, name, side, ns,
           unnest([{'of': 'host_op', 'value': host_op}, {'of': 'core_type', 'value': core_type}, {'of': 'input_dtypes', 'value': input_dtypes}],
                  recursive := TRUE)
    FROM made
), summed AS (
    SELECT kind, phase, name, side, of, value, sum(ns) AS ns FROM valued GROUP BY ALL
), alike AS (
    SELECT kind, phase, name, side, of, arg_max({'value': value}, {'ns': ns, 'value': value}).value AS value, sum(ns) AS ns
    FROM summed GROUP BY kind, phase, name, side, of, CASE WHEN of = 'input_dtypes' THEN types_of(value) ELSE value END
), main AS (
    SELECT kind, phase, name, side, of, arg_max({'value': value}, {'ns': ns, 'value': value}).value AS value
    FROM alike GROUP BY kind, phase, name, side, of HAVING max(ns) >= 0.8 * sum(ns)
), clear AS (
    SELECT kind, phase, name, side, min(value) FILTER (WHERE of = 'host_op') AS host_op, min(value) FILTER (WHERE of = 'core_type') AS core_type,
           min(value) FILTER (WHERE of = 'input_dtypes') AS input_dtypes
    FROM main GROUP BY ALL
)
SELECT e.name, e.kind, e.phase, bool_or(e.side = 'baseline') AS in_baseline, bool_or(e.side = 'new') AS in_new,
       side_mean(e.ns, e.divisor, e.side = 'baseline') AS baseline_ns, side_mean(e.ns, e.divisor, e.side = 'new') AS new_ns,
       side_mean(e.pieces, e.divisor, e.side = 'baseline') AS baseline_pieces, side_mean(e.pieces, e.divisor, e.side = 'new') AS new_pieces,
       min(m.host_op) FILTER (WHERE e.side = 'baseline') AS baseline_host_op,
       min(m.host_op) FILTER (WHERE e.side = 'new') AS new_host_op,
       min(m.core_type) FILTER (WHERE e.side = 'baseline') AS baseline_core_type,
       min(m.core_type) FILTER (WHERE e.side = 'new') AS new_core_type,
       min(m.input_dtypes) FILTER (WHERE e.side = 'baseline') AS baseline_input_dtypes,
       min(m.input_dtypes) FILTER (WHERE e.side = 'new') AS new_input_dtypes
FROM exact AS e LEFT JOIN clear AS m ON m.kind = e.kind AND m.phase IS NOT DISTINCT FROM e.phase AND m.name = e.name AND m.side = e.side
GROUP BY e.kind, e.phase, e.name;
