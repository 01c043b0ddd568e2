-- The accounts of both sides, with names that meet. The members that count are those of the time that the rows sum to: of the step if both sides
-- mark steps, else of the span of the device; all where neither is known on both sides. c_step_start_named has the kinds that the path alone has, as
-- each rank has them.
-- Depends on c_account, c_capture, c_divisor, c_step_start, c_time, named_of.
-- Nothing without c_account, c_capture, c_divisor.
-- Runs after uneven.
CREATE VIEW c_account_divided AS
SELECT a.*, c.member, d.domain, d.divisor
FROM c_account AS a JOIN c_divisor AS d USING (side, run, capture) JOIN c_capture AS c USING (side, run, capture);
CREATE VIEW c_account_counted AS
SELECT * FROM c_account_divided
WHERE domain = (SELECT CASE WHEN count(DISTINCT side) FILTER (WHERE step_ns IS NOT NULL) = 2 THEN 'step'
                            WHEN count(DISTINCT side) FILTER (WHERE compute_ns IS NOT NULL) = 2 THEN 'compute'
                            ELSE 'account' END FROM c_time);
CREATE VIEW c_step_start_counted AS
SELECT s.side, s.run, s.capture, nullif(c.folder, '') AS phase, s.kind, CASE WHEN s.kind = 'late start' THEN 'rank ' || c.rank END AS subject,
       CAST(NULL AS VARCHAR) AS op_type, CAST(NULL AS VARCHAR) AS host_op, CAST(NULL AS VARCHAR) AS core_type, CAST(NULL AS VARCHAR) AS input_dtypes,
       1 AS pieces, s.ns, c.member, d.divisor
FROM c_step_start AS s JOIN c_capture AS c USING (side, run, capture)
JOIN (SELECT DISTINCT side, run, capture, divisor FROM c_account_counted) AS d USING (side, run, capture);
CREATE TABLE c_account_named AS FROM named_of('c_account_counted');
CREATE TABLE c_step_start_named AS FROM named_of('c_step_start_counted');
