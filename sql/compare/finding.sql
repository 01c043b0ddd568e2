-- Findings of the sources; identical messages are listed once.
-- Depends on c_finding.
-- Nothing without c_finding.
SELECT side, run, severity, key, message, count(*) AS times FROM c_finding GROUP BY ALL ORDER BY side, severity DESC, key, message, run;
