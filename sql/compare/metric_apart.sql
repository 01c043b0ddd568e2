-- The metrics that are not compared, and why.
-- Depends on c_apart.
FROM c_apart ORDER BY name;
