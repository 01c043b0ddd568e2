-- The side that marks its steps, if the other one does not; `counted`: whether the number of the other one's steps is known.
-- Depends on c_step, c_time, spanned.
-- Nothing without c_time.
SELECT m.side, (SELECT bool_and(s.is_one) FROM c_step AS s WHERE s.side <> m.side) AS counted
FROM (SELECT DISTINCT side FROM c_time WHERE step_ns IS NOT NULL AND EXISTS (FROM spanned)) AS m;
