-- Training, importance-sampling and workload metrics of one run. Not narrowed by the selection of steps: the profile's steps and the
-- training's need not be the same numbers. A metric whose meaning changed keeps its later name, unless the run still logs what releases
-- with the earlier meaning alone log (the veto fraction). Variables: side, run. Depends on c_metric_alias.
CREATE TABLE IF NOT EXISTS c_metric (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    step BIGINT,
    name VARCHAR NOT NULL,    -- as the first release of verl that knew it calls it
    given VARCHAR NOT NULL,   -- as the run calls it
    value DOUBLE,             -- NULL where it was not a finite number
    profiled BOOLEAN NOT NULL,
    warmup BOOLEAN            -- NULL: unknown
);
INSERT INTO c_metric
WITH later AS (
    SELECT count(*) FILTER (starts_with(name, 'rollout_corr/rollout_is_')) > 0
           AND count(*) FILTER (name = 'rollout_corr/rollout_is_veto_fraction') = 0 AS applied,
           EXISTS (FROM store.env WHERE key = 'algorithm.rollout_is_level' AND value = 'geometric') AS geometric
    FROM store.metric
), named AS (
    SELECT m.*, CASE WHEN starts_with(m.name, 'rollout_corr/') AND (a.drift = 'applied' AND l.applied OR a.drift = 'geometric' AND l.geometric)
                     THEN m.name ELSE coalesce(a.canonical, m.name) END AS canonical
    FROM store.metric AS m CROSS JOIN later AS l LEFT JOIN c_metric_alias AS a ON a.name = m.name
)
SELECT getvariable('side'), getvariable('run'), step, canonical, name, CASE WHEN isfinite(value) THEN value END, profiled, warmup
FROM named
QUALIFY row_number() OVER (PARTITION BY step, canonical ORDER BY name <> canonical, name) = 1;
