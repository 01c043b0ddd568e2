-- The step numbers of each side.
-- Depends on c_position.
-- Nothing without c_position.
SELECT DISTINCT side, step FROM c_position ORDER BY side, step;
