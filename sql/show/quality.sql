-- What is missing, damaged or inferred.
-- Depends on finding.
SELECT severity, message, count(*) AS captures FROM finding GROUP BY severity, key, message ORDER BY severity DESC, key, message LIMIT 40;
