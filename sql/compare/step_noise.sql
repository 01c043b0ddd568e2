-- How far the mean of each metric of a time or of work may be off by luck in one run, as its steps show (noise_of). Steps that test or save a
-- checkpoint do not count if there are others. Unknown where a run has two steps or fewer.
-- Depends on c_judged, c_metric, c_metric_entry, c_metric_name, in_part, may_tell, noise_of.
-- Nothing without c_judged, c_metric_name.
WITH told AS (
    SELECT DISTINCT CAST(name AS metric_name) AS name FROM c_metric_name
    WHERE in_part(CAST(name AS metric_name)) AND (name IN (SELECT name FROM c_metric_entry) OR may_tell(name))
), beside AS (
    SELECT DISTINCT side, run, step FROM c_metric WHERE name IN ('timing_s/testing', 'timing_s/save_checkpoint') AND value > 0
), known AS (
    SELECT j.side, j.run, j.name, j.step, j.value, b.step IS NOT NULL AS tests
    FROM c_judged AS j SEMI JOIN told USING (name) LEFT JOIN beside AS b USING (side, run, step) WHERE in_part(name) AND j.step IS NOT NULL
), plain AS (
    SELECT * FROM known QUALIFY NOT tests OR bool_and(tests) OVER (PARTITION BY side, run, enum_code(name))
)
SELECT name, alone, alone_freedom, paired, paired_freedom FROM noise_of('plain', 3) ORDER BY enum_code(name);
