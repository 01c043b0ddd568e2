-- The side that marks its steps, if the other one does not.
-- Depends on c_time, spanned.
-- Nothing without c_time.
SELECT DISTINCT side FROM c_time WHERE step_ns IS NOT NULL AND EXISTS (FROM spanned);
