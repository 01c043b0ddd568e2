-- One file of metrics, as table stage_metric(step, name, value) holds it. Of a step that was logged twice, as after a restart, the last
-- values count. Variables: metrics_source, profiled_steps, warmup_steps (NULL: unknown).
INSERT INTO metric
SELECT step, name, value, getvariable('metrics_source'), coalesce(list_contains(getvariable('profiled_steps'), step), FALSE),
       list_contains(getvariable('warmup_steps'), step)
FROM stage_metric
QUALIFY row_number() OVER (PARTITION BY step, name ORDER BY line DESC) = 1
ORDER BY line, name;
