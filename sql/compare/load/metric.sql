-- Training, importance-sampling and workload metrics of one run. They are not limited to the selected steps, because the profile and the
-- training may number steps differently. Numbers that stand for an unknown value are left out: verl writes -1 for an unknown number of
-- preemptions, and for unknown times of ranks.
-- Variables: run, side.
-- Depends on c_catalogue, c_metric_alias, metric.
-- Nothing without metric.
CREATE TABLE IF NOT EXISTS c_metric (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    step BIGINT,
    name VARCHAR NOT NULL,    -- canonical name: that of the first release of verl with this metric
    given VARCHAR NOT NULL,   -- name in this run
    value DOUBLE,             -- NULL if it is not finite, if its square would overflow, or if it is a time that is negative or beyond 30 days
    profiled BOOLEAN NOT NULL,
    warmup BOOLEAN            -- NULL: unknown
);
INSERT INTO c_metric
SELECT getvariable('side'), getvariable('run'), m.step, coalesce(a.canonical, m.name), m.name,
       CASE WHEN abs(m.value) <= 1e100 AND (m.value BETWEEN 0 AND 30 * 86400 OR NOT starts_with(m.name, 'timing_s/')) THEN m.value END,
       m.profiled, m.warmup
FROM store.metric AS m LEFT JOIN c_metric_alias AS a ON a.name = m.name
WHERE NOT EXISTS (FROM c_catalogue AS c WHERE c.name = m.name AND c.unknown = m.value)
QUALIFY row_number() OVER (PARTITION BY m.step, coalesce(a.canonical, m.name) ORDER BY m.name <> coalesce(a.canonical, m.name), m.name) = 1;
