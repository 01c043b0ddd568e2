-- Metrics of one run, from table stage_metric(source, line, step, name, value). If several sources have the same step and metric, the first
-- source counts. If one source has it twice, as after a restart, the last value counts. The first step after a restart is warm-up. A
-- restart is where the step number goes back to an earlier step, or where a source begins later than another. Also makes
-- metric_start(source, step).
-- Variables: metrics_sources (names by number, from 0), profiled_steps, warmup_steps (NULL: unknown).
-- Depends on stage_metric.
CREATE OR REPLACE TEMP TABLE metric_start AS
WITH timed AS (
    SELECT source, step, lag(step) OVER (PARTITION BY source ORDER BY line, rowid) AS before, count(*) OVER (PARTITION BY source, step) AS times
    FROM stage_metric WHERE name = 'timing_s/step'
), begun AS (
    SELECT source, min(step) AS step FROM timed GROUP BY source
)
SELECT source, step FROM timed WHERE times > 1 AND before >= step
UNION SELECT source, step FROM begun WHERE step > (SELECT min(step) FROM begun);
INSERT INTO metric
SELECT step, name, value, getvariable('metrics_sources')[source + 1], coalesce(list_contains(getvariable('profiled_steps'), step), FALSE),
       CASE WHEN step IN (SELECT step FROM metric_start) THEN TRUE ELSE list_contains(getvariable('warmup_steps'), step) END
FROM stage_metric
QUALIFY row_number() OVER (PARTITION BY step, name ORDER BY source, line DESC, rowid DESC) = 1
ORDER BY source, line, name;
