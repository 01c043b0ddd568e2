-- The trainer that a run is of, by the names of its metrics and by its settings: main where nothing tells another. Some timers mean
-- something else with another trainer: with fully_async, timing_s/gen is the time of waiting for samples. v1 is the V1 trainer in its modes
-- sync and colocate_async; separate_async, which generates on other devices, stands for itself. mindspeed_rl is told apart because its
-- timing/adv is not that of verl's first releases.
-- Variables: run, side.
-- Depends on c_logged, env.
CREATE TABLE IF NOT EXISTS c_trainer (side VARCHAR NOT NULL, run INTEGER NOT NULL, trainer VARCHAR NOT NULL);
INSERT INTO c_trainer
WITH mark(kind, pattern, trainer, place) AS (   -- the first place counts
    VALUES ('metric', 'fully_async/*', 'fully_async', 1), ('metric', 'timing_s/generate_async', 'one_step_off', 2),
           ('metric', 'timing_s/sync_rollout_weights', 'one_step_off', 2), ('metric', 'timing_s/wait_prev_gen', 'one_step_off', 2),
           ('metric', 'separate_async/*', 'separate_async', 3), ('metric', 'timing_s/switch_*', 'separate_async', 3),
           ('setting', 'trainer.v1.trainer_mode=separate_async', 'separate_async', 3), ('setting', 'trainer.v1.trainer_mode=*', 'v1', 4),
           ('metric', 'training/off_policy/trajectory_*', 'v1', 5),
           ('metric', 'timing/all', 'mindspeed_rl', 6)
), told AS (
    SELECT 'metric' AS kind, name FROM c_logged WHERE side = getvariable('side') AND run = getvariable('run')
    UNION ALL SELECT DISTINCT 'setting', key || '=' || value FROM store.env
    WHERE capture IS NULL AND key = 'trainer.v1.trainer_mode' AND NOT EXISTS (FROM store.env WHERE key = 'trainer.use_v1' AND lower(value) = 'false')
)
SELECT getvariable('side'), getvariable('run'), coalesce(min_by(trainer, place), 'main')
FROM mark JOIN told ON told.kind = mark.kind AND told.name GLOB mark.pattern;
