-- Metrics of one run, from the tables stage_metric(source, line, step, metric, value) and stage_name(id, name), whose
-- ids are in the order of the names. If several sources have the same step and metric, the first
-- source counts. If one source has it twice, as after a restart, the last value counts. The first step after a restart is warm-up. A
-- restart is where the step number goes back, or where a step is measured again, or where a source begins later than another; a line that is
-- only printed again is none. Where this happens at more than half of the steps, nothing was restarted: several processes print their steps in
-- turn. Also makes metric_again(source, step, in_turn), metric_start(source, step) and metric_repeated(step, metric).
-- Variables: metrics_sources (names by number, from 0), profiled_steps, warmup_steps (NULL: unknown).
-- Depends on stage_metric, stage_name.
CREATE OR REPLACE TEMP TABLE metric_again AS   -- in_turn: several processes of this source measure their steps
WITH timed AS (
    SELECT source, step, value, count(*) OVER (PARTITION BY source, step) AS times,
           lag(step) OVER (PARTITION BY source ORDER BY line, rowid) AS before, lag(value) OVER (PARTITION BY source ORDER BY line, rowid) AS last
    FROM stage_metric WHERE metric = (SELECT id FROM stage_name WHERE name = 'timing_s/step')
), again AS (
    SELECT DISTINCT source, step FROM timed WHERE times > 1 AND (before > step OR before = step AND value IS DISTINCT FROM last)
), counted AS (
    SELECT source, count(DISTINCT step) AS steps FROM timed GROUP BY source
)
SELECT a.source, a.step, count(*) OVER (PARTITION BY a.source) > greatest(c.steps / 2, 1) AS in_turn FROM again AS a JOIN counted AS c USING (source);
CREATE OR REPLACE TEMP TABLE metric_start AS
WITH begun AS (
    SELECT source, min(step) AS step FROM stage_metric WHERE metric = (SELECT id FROM stage_name WHERE name = 'timing_s/step') GROUP BY source
)
SELECT source, step FROM metric_again WHERE NOT in_turn
UNION SELECT source, step FROM begun WHERE step > (SELECT min(step) FROM begun);
CREATE OR REPLACE TEMP TABLE metric_repeated AS
SELECT step, metric FROM stage_metric GROUP BY step, metric HAVING count(*) > 1;
INSERT INTO metric
WITH last AS (   -- only few values are there several times, and only these are numbered
    FROM stage_metric ANTI JOIN metric_repeated USING (step, metric)
    UNION ALL
    (SELECT s.* FROM stage_metric AS s SEMI JOIN metric_repeated USING (step, metric)
     QUALIFY row_number() OVER (PARTITION BY s.step, s.metric ORDER BY s.source, s.line DESC, s.rowid DESC) = 1)
)
SELECT l.step, n.name, l.value, getvariable('metrics_sources')[l.source + 1], coalesce(list_contains(getvariable('profiled_steps'), l.step), FALSE),
       CASE WHEN l.step IN (SELECT step FROM metric_start) THEN TRUE ELSE list_contains(getvariable('warmup_steps'), l.step) END
FROM (FROM last ORDER BY metric, source, line) AS l JOIN stage_name AS n ON n.id = l.metric;   -- metric by metric, as they are compared
