-- Samples by step. A counter's growth between two samples is divided in proportion to the time that lies in a step, so that steps and what is
-- between them sum to all of it; a step counts only if samples at no more than three times their usual distance surround all of it. Gauges
-- are means and largest values over the samples in a step.
-- Variables: prometheus_by_step.
-- Depends on sample_growth, sample_level, stage_series, stage_step_time.
CREATE OR REPLACE TEMP TABLE sample_of_step AS
FROM (WITH piece AS (
    SELECT g.series, t.step, t.end_ns - t.start_ns AS length_ns, least(g.end_ns, t.end_ns) - greatest(g.start_ns, t.start_ns) AS part_ns,
           g.growth, g.end_ns - g.start_ns AS whole_ns, g.start_ns, g.end_ns - g.start_ns <= 3 * g.gap AS dense
    FROM sample_growth AS g JOIN stage_step_time AS t ON g.start_ns < t.end_ns AND g.end_ns > t.start_ns
), grown AS (
    SELECT series, step, sum(growth * part_ns / whole_ns ORDER BY start_ns) AS growth,
           coalesce(sum(part_ns) FILTER (dense), 0) >= 0.999 * any_value(length_ns) AS whole
    FROM piece GROUP BY series, step
), counted AS (
    SELECT s.name, s.kind, g.step, sum(g.growth ORDER BY g.series) AS growth FROM grown AS g JOIN stage_series AS s USING (series)
    GROUP BY ALL HAVING bool_or(g.whole)
), level AS (
    SELECT l.name, t.step, avg(l.value ORDER BY l.time_ns) AS mean, max(l.top) AS most
    FROM sample_level AS l JOIN stage_step_time AS t ON l.time_ns > t.start_ns AND l.time_ns <= t.end_ns GROUP BY ALL
)
SELECT step, name, growth AS value FROM counted WHERE kind = 'counter'
UNION ALL SELECT a.step, a.name || '/mean', a.growth / b.growth FROM counted AS a JOIN counted AS b USING (name, step)
    WHERE a.kind = 'sum' AND b.kind = 'count' AND b.growth > 0
UNION ALL SELECT a.step, 'vllm:spec_decode_acceptance_rate', a.growth / b.growth FROM counted AS a JOIN counted AS b USING (step)
    WHERE a.name = 'vllm:spec_decode_num_accepted_tokens_total' AND b.name = 'vllm:spec_decode_num_draft_tokens_total' AND b.growth > 0
UNION ALL SELECT step, name || '/mean', mean FROM level
UNION ALL SELECT step, name || '/max', most FROM level)
WHERE getvariable('prometheus_by_step') AND abs(value) <= 1e100;   -- as of other metrics
