-- What is not compared because only some members or runs recorded it, by side.
-- Depends on c_uneven.
-- Nothing without c_uneven.
SELECT side, what FROM c_uneven ORDER BY side, what;
