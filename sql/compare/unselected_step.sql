-- The step numbers of each side that are not compared.
-- Depends on c_step.
-- Nothing without c_step.
SELECT DISTINCT side, step FROM c_step WHERE NOT selected ORDER BY side, step;
