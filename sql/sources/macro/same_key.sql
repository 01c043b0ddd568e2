-- Whether two keys are equal, or both NULL. For ASOF joins: in DuckDB 1.5, IS NOT DISTINCT FROM may not match NULL with NULL there.
CREATE OR REPLACE TEMP MACRO same_key(a, b) AS coalesce(a, 0) = coalesce(b, 0) AND (a IS NULL) = (b IS NULL);
