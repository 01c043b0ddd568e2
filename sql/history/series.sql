-- The values of metrics over the usable runs of each environment, in the order of their start.
-- Variables: metrics (a list of names or globs, or NULL for all).
-- Depends on history_run, history_value, run_environment.
SELECT e.environment, v.metric, any_value(v.unit ORDER BY r.number) AS unit,
    list(r.number ORDER BY r.started_ns, r.number) AS numbers,
    list(v.value ORDER BY r.started_ns, r.number) AS "values"
FROM history_value AS v JOIN history_run AS r USING (run) JOIN run_environment AS e USING (run)
WHERE r.status = 'ok' AND abs(v.value) <= 1e100
    AND (getvariable('metrics') IS NULL OR len(list_filter(getvariable('metrics'), p -> v.metric = p OR v.metric GLOB p)) > 0)
GROUP BY ALL ORDER BY e.environment, v.metric;
