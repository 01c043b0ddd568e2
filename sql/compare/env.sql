-- Versions and settings of each side. If a key has several values (in several runs or captures), all are listed.
-- Depends on c_env.
-- Nothing without c_env.
SELECT side, key, list(DISTINCT value ORDER BY value) AS "values" FROM c_env GROUP BY ALL ORDER BY key, side;
