-- The values of chosen metrics, of all runs.
-- Variables: metrics (a list of names or globs).
-- Depends on history_run, history_value.
SELECT r.number, v.metric, v.unit, v.value
FROM history_value AS v JOIN history_run AS r USING (run)
WHERE abs(v.value) <= 1e100 AND len(list_filter(getvariable('metrics'), p -> v.metric = p OR v.metric GLOB p)) > 0
ORDER BY v.metric, r.number;
