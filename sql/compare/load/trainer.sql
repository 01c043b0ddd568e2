-- The trainer that a run is of, by the names of its metrics: main where none of the others is told. Some timers mean something else with
-- another trainer: with fully_async, timing_s/gen is the time of waiting for samples.
-- Variables: run, side.
-- Depends on metric.
CREATE TABLE IF NOT EXISTS c_trainer (side VARCHAR NOT NULL, run INTEGER NOT NULL, trainer VARCHAR NOT NULL);
INSERT INTO c_trainer
WITH mark(pattern, trainer, place) AS (
    VALUES ('fully_async/*', 'fully_async', 1), ('timing_s/wait_last_valid', 'one_step_off', 2), ('timing_s/wait_prev_gen', 'one_step_off', 2),
           ('timing_s/generate_async', 'one_step_off', 2), ('separate_async/*', 'v1', 3), ('timing_s/switch_wait', 'v1', 3)
)
SELECT getvariable('side'), getvariable('run'),
       coalesce((SELECT arg_min(trainer, place) FROM mark WHERE EXISTS (FROM store.metric AS m WHERE m.name GLOB mark.pattern)), 'main');
