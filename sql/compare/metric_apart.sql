-- The metrics that are not compared, and why.
-- Depends on c_apart.
-- Nothing without c_apart.
FROM c_apart ORDER BY name;
