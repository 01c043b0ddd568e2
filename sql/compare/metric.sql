-- Training, importance-sampling and workload metrics of all runs. `name` is the canonical name, that of the first release of verl with this
-- metric; `given` the name in the run. Both have a type of their own, in the order of texts: texts would take most of the memory and of the
-- time to sort. An empty name makes it a type where there are no metrics. `value` is NULL if it is not finite, or if its square would
-- overflow; `warmup` if it is unknown. Whatever sorts or partitions by a name uses its enum_code: DuckDB copies the type for each sort, which
-- takes half a second for 100,000 names.
-- Depends on c_metric_name, c_metric_value.
-- Nothing without c_metric_name, c_metric_value.
CREATE TYPE metric_name AS ENUM (SELECT '' AS name UNION SELECT name FROM c_metric_name UNION SELECT given FROM c_metric_name ORDER BY ALL);
CREATE TABLE c_metric AS
WITH named AS (
    SELECT id, CAST(name AS metric_name) AS name, CAST(given AS metric_name) AS given FROM c_metric_name
)
SELECT v.side, v.run, v.step, n.name, n.given, v.value, v.profiled, v.warmup FROM c_metric_value AS v JOIN named AS n ON n.id = v.metric;
DROP TABLE c_metric_value;
