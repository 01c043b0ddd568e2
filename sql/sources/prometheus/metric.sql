-- The metrics of engines, as metrics of the run.
-- Variables: profiled_steps, prometheus_source (name of the files), warmup_steps (NULL: unknown).
-- Depends on metric_start, sample_of_run, sample_of_step.
-- Run by name: last, because the times of steps are read from table metric.
INSERT INTO metric
SELECT step, 'prometheus/' || name, value, getvariable('prometheus_source'), coalesce(list_contains(getvariable('profiled_steps'), step), FALSE),
       CASE WHEN step IN (SELECT step FROM metric_start) THEN TRUE ELSE list_contains(getvariable('warmup_steps'), step) END
FROM (FROM sample_of_step UNION ALL FROM sample_of_run) ORDER BY step, name;
