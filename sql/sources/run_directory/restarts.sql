-- For one source of metrics: the steps that have a metric twice with other values, and the first steps after a restart.
-- Variables: metrics_source (its number).
-- Depends on metric_repeated, metric_start, stage_metric.
SELECT (SELECT list(step ORDER BY step) FROM (
           SELECT DISTINCT step FROM stage_metric SEMI JOIN metric_repeated USING (step, metric) WHERE source = getvariable('metrics_source') GROUP BY step, metric
           HAVING min(value) IS DISTINCT FROM max(value) OR count(value) NOT IN (0, count(*)))),
       (SELECT list(step ORDER BY step) FROM metric_start WHERE source = getvariable('metrics_source'));
