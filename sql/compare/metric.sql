-- Training, importance-sampling and workload metrics of all runs. `name` is the canonical name, that of the first release of verl with this
-- metric; `given` the name in the run. Both have a type of their own, in the order of texts: texts would take most of the memory and of the
-- time to sort. An empty name makes it a type where there are no metrics. `value` is NULL if it is not finite, or if its square would
-- overflow; `warmup` if it is unknown. `validation`: from before training. That is step 0, unless the run trained in it, as its timers tell;
-- then only its tests are, because verl's first releases logged both as step 0. Whatever sorts or partitions by a name uses its enum_code: DuckDB copies the type for each sort, which
-- takes half a second for 100,000 names.
-- Depends on c_metric_name, c_metric_value.
-- Nothing without c_metric_name, c_metric_value.
CREATE TYPE metric_name AS ENUM (SELECT '' AS name UNION SELECT name FROM c_metric_name UNION SELECT given FROM c_metric_name ORDER BY ALL);
CREATE TABLE c_metric AS
WITH named AS (
    SELECT id, CAST(name AS metric_name) AS name, CAST(given AS metric_name) AS given, starts_with(name, 'val') AS is_test FROM c_metric_name
), trained AS (
    SELECT DISTINCT v.side, v.run FROM c_metric_value AS v JOIN c_metric_name AS n ON n.id = v.metric
    WHERE v.step = 0 AND n.name IN ('timing_s/step', 'timing_s/update_actor')
)
SELECT v.side, v.run, v.step, n.name, n.given, v.value, v.profiled, v.warmup, coalesce(v.step = 0 AND (n.is_test OR t.run IS NULL), FALSE) AS validation
FROM c_metric_value AS v JOIN named AS n ON n.id = v.metric LEFT JOIN trained AS t ON t.side = v.side AND t.run = v.run;
DROP TABLE c_metric_value;
