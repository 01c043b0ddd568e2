-- Samples of the whole run. A counter of one scrape counts from the start of the engine; a gauge of one scrape is left out, because it tells
-- only of that moment. Counters and largest values grow with the time that the samples cover, so their names differ from those of values by
-- step, with which they must not be compared.
-- Variables: prometheus_by_step.
-- Depends on sample_growth, sample_level, stage_sample, stage_series.
CREATE OR REPLACE TEMP TABLE sample_of_run AS
FROM (WITH total AS (
    SELECT series, coalesce(sum(growth ORDER BY end_ns), 0) AS growth FROM sample_growth GROUP BY series
    UNION ALL SELECT series, min(value) FROM stage_sample GROUP BY series HAVING count(*) = 1
), counted AS (
    SELECT s.name, s.kind, sum(t.growth ORDER BY t.series) AS growth FROM total AS t JOIN stage_series AS s USING (series)
    WHERE s.kind <> 'gauge' GROUP BY ALL
), level AS (
    SELECT name, avg(value ORDER BY time_ns) AS mean, max(top) AS most FROM sample_level GROUP BY name HAVING count(*) > 1
)
SELECT NULL::BIGINT AS step, 'of_run/' || name AS name, growth AS value FROM counted WHERE kind = 'counter'
UNION ALL SELECT NULL, a.name || '/mean', a.growth / b.growth FROM counted AS a JOIN counted AS b USING (name)
    WHERE a.kind = 'sum' AND b.kind = 'count' AND b.growth > 0
UNION ALL SELECT NULL, 'vllm:spec_decode_acceptance_rate', a.growth / b.growth FROM counted AS a, counted AS b
    WHERE a.name = 'vllm:spec_decode_num_accepted_tokens_total' AND b.name = 'vllm:spec_decode_num_draft_tokens_total' AND b.growth > 0
UNION ALL SELECT NULL, name || '/mean', mean FROM level
UNION ALL SELECT NULL, 'of_run/' || name || '/max', most FROM level)
WHERE NOT getvariable('prometheus_by_step') AND abs(value) <= 1e100;   -- as of other metrics
