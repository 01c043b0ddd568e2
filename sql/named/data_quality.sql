-- What was missing, damaged, inferred or left out.
-- Depends on capture, finding.
SELECT c.path AS capture, f.severity, f.key, f.message FROM finding AS f LEFT JOIN capture AS c USING (capture)
ORDER BY f.severity DESC, f.key, c.path, f.message;
