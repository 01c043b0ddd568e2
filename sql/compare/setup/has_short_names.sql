-- Whether some captures, and not all, had so many long names that these were cut (sql/normalize/shorten.sql).
-- Depends on c_capture, c_finding.
-- Run by name: when all stores are loaded.
WITH short AS (
    SELECT count(DISTINCT (side, run, capture)) AS captures FROM c_finding WHERE key = 'short_names'
)
SELECT captures > 0 AND captures < (SELECT count(*) FROM c_capture) FROM short;
