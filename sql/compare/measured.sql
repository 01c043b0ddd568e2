-- The domains that each side measured.
-- Depends on c_divisor.
-- Nothing without c_divisor.
SELECT DISTINCT side, domain FROM c_divisor ORDER BY side, domain;
