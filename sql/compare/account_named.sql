-- The accounts of both sides, with names that meet. The members that count are those of the time that the rows sum to: of the step if both sides
-- mark steps, else of the span of the device; all where neither is known on both sides.
-- Depends on c_account, c_capture, c_divisor, c_time, named_of.
-- Nothing without c_account, c_capture, c_divisor.
-- Runs after uneven, uneven_sums.
CREATE VIEW c_account_divided AS
SELECT a.*, c.member, d.domain, d.divisor
FROM c_account AS a JOIN c_divisor AS d USING (side, run, capture) JOIN c_capture AS c USING (side, run, capture);
CREATE VIEW c_account_counted AS
SELECT * FROM c_account_divided
WHERE domain = (SELECT CASE WHEN count(DISTINCT side) FILTER (WHERE step_ns IS NOT NULL) = 2 THEN 'step'
                            WHEN count(DISTINCT side) FILTER (WHERE compute_ns IS NOT NULL) = 2 THEN 'compute'
                            ELSE 'account' END FROM c_time);
CREATE TABLE c_account_named AS FROM named_of('c_account_counted');
