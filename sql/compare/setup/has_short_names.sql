-- Whether some captures, and not all, had so many long names that these were cut (sql/normalize/shorten.sql).
-- Depends on c_capture, c_finding.
-- Run by name: when all stores are loaded.
SELECT count(*) > 0 AND count(*) < (SELECT count(*) FROM c_capture) FROM c_finding WHERE key = 'short_names';
