-- The kinds of time that the critical path alone has, as each rank has them; as in account_named.
-- Depends on c_account_counted, c_capture, c_step_start, named_of.
-- Nothing without c_account, c_capture, c_divisor, c_step_start.
-- Runs after uneven, uneven_sums.
CREATE VIEW c_step_start_counted AS
SELECT s.side, s.run, s.capture, nullif(c.folder, '') AS phase, s.kind, CASE WHEN s.kind = 'late start' THEN 'rank ' || c.rank END AS subject,
       CAST(NULL AS VARCHAR) AS op_type, CAST(NULL AS VARCHAR) AS host_op, CAST(NULL AS VARCHAR) AS core_type, CAST(NULL AS VARCHAR) AS input_dtypes,
       1 AS pieces, s.ns, c.member, d.divisor
FROM c_step_start AS s JOIN c_capture AS c USING (side, run, capture)
JOIN (SELECT DISTINCT side, run, capture, divisor FROM c_account_counted) AS d USING (side, run, capture);
CREATE TABLE c_step_start_named AS FROM named_of('c_step_start_counted');
