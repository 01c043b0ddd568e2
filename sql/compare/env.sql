-- What each side was made with. Several values of one key (over runs, or captures of a run) are listed.
-- Depends on c_env.
SELECT side, key, list(DISTINCT value ORDER BY value) AS "values" FROM c_env GROUP BY ALL ORDER BY key, side;
