-- The accounts of both sides, with names that meet.
-- Depends on c_account, c_capture, c_divisor, named_of.
-- Nothing without c_account, c_capture, c_divisor.
CREATE VIEW c_account_divided AS
SELECT a.*, c.member, d.divisor
FROM c_account AS a JOIN c_divisor AS d USING (side, run, capture) JOIN c_capture AS c USING (side, run, capture)
WHERE d.domain = 'account';
CREATE TABLE c_account_named AS FROM named_of('c_account_divided');
