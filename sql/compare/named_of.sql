-- named_of(rows): rows of an account with the names by which those of both sides meet. A kernel is named by its type, or by its own name if a
-- side has no types (Level0 in any capture). A phase counts if both sides have phases, on all their ranks. Where only one side tells waiting from transfer, both
-- are communication. `rows` names a table with the columns of c_account, and member and divisor.
-- Depends on c_uneven.
-- Run by name: once, before all others.
CREATE OR REPLACE MACRO named_of(rows) AS TABLE
WITH typed AS (
    SELECT bool_and(is_typed) AS on_all
    FROM (SELECT count(op_type) > 0 AS is_typed FROM query_table(rows) WHERE kind = 'compute' GROUP BY side, run, capture)
), phased AS (
    SELECT count(DISTINCT side) > 1 AND NOT EXISTS (FROM c_uneven WHERE what = 'kernel_phases') AS on_both
    FROM query_table(rows) WHERE phase IS NOT NULL
), divided AS (
    SELECT count(DISTINCT side) > 1 AS on_both FROM query_table(rows) WHERE kind IN ('wait', 'transfer')
)
SELECT CASE WHEN a.kind IN ('wait', 'transfer') AND NOT (SELECT on_both FROM divided) THEN 'comm' ELSE a.kind END AS kind,
       CASE WHEN (SELECT on_both FROM phased) THEN a.phase END AS phase,
       coalesce(CASE WHEN a.kind = 'wait' AND (SELECT on_both FROM divided) THEN a.subject
                     WHEN a.kind = 'wait' OR (SELECT on_all FROM typed) THEN a.op_type END, a.subject, a.kind) AS name, a.side, a.member, a.divisor,
       a.host_op, a.core_type, a.input_dtypes, a.pieces, a.ns
FROM query_table(rows) AS a;
