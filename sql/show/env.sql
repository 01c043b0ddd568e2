-- Versions and settings of the run: one value if all captures agree, else all values.
-- Depends on env.
SELECT key, CASE WHEN count(DISTINCT value) <= 3 THEN string_agg(DISTINCT value, ' | ' ORDER BY value)
                 ELSE count(DISTINCT value) || ' different values' END AS value
FROM env GROUP BY key ORDER BY key;
