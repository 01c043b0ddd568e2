-- What is missing in the tables of a side, so that its changes are not explained.
-- Depends on c_lost.
-- Nothing without c_lost.
SELECT side, what FROM c_lost ORDER BY side, what;
