-- What the sources had to say, equal sentences once.
-- Depends on c_finding.
SELECT side, run, severity, key, message, count(*) AS times FROM c_finding GROUP BY ALL ORDER BY side, severity DESC, key, message, run;
