-- For one source of metrics: the steps that have a metric twice with other values, the first steps after a restart, and whether several
-- processes print their steps in turn.
-- Variables: metrics_source (its number).
-- Depends on metric_again, metric_repeated, metric_start, stage_metric.
SELECT (SELECT list(step ORDER BY step) FROM (
           SELECT DISTINCT step FROM stage_metric SEMI JOIN metric_repeated USING (step, metric) WHERE source = getvariable('metrics_source') GROUP BY step, metric
           HAVING min(value) IS DISTINCT FROM max(value) OR count(value) NOT IN (0, count(*)))),
       (SELECT list(step ORDER BY step) FROM metric_start WHERE source = getvariable('metrics_source')),
       (SELECT coalesce(bool_or(in_turn), FALSE) FROM metric_again WHERE source = getvariable('metrics_source'));
