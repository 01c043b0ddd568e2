-- Training, importance-sampling and workload metrics of one run. Not narrowed by the selection of steps: the profile's steps and the
-- training's need not be the same numbers. Where verl counts preemptions or times of ranks that nobody told it, it writes -1, which is no
-- value.
-- Variables: run, side.
-- Depends on c_metric_alias, metric.
CREATE TABLE IF NOT EXISTS c_metric (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    step BIGINT,
    name VARCHAR NOT NULL,    -- as the first release of verl that knew it calls it
    given VARCHAR NOT NULL,   -- as the run calls it
    value DOUBLE,             -- NULL where it was no finite number, or one whose square overflows
    profiled BOOLEAN NOT NULL,
    warmup BOOLEAN            -- NULL: unknown
);
INSERT INTO c_metric
SELECT getvariable('side'), getvariable('run'), m.step, coalesce(a.canonical, m.name), m.name, CASE WHEN abs(m.value) <= 1e100 THEN m.value END,
       m.profiled, m.warmup
FROM store.metric AS m LEFT JOIN c_metric_alias AS a ON a.name = m.name
WHERE NOT (m.value = -1 AND regexp_matches(m.name, '^timing_s/(agent_loop/(slowest/num_preempted$|num_preempted/)|generation_timing/)')) IS TRUE
QUALIFY row_number() OVER (PARTITION BY m.step, coalesce(a.canonical, m.name) ORDER BY m.name <> coalesce(a.canonical, m.name), m.name) = 1;
