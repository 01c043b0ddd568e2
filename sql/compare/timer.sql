-- Training's timers that are phases of the step, per run, with the role that does the work. Timers inside timers are not listed
-- (c_inner_timer). Where generation runs beside the step, timing_s/gen is the time that the trainer waits for samples. Some timers are part
-- of the step in some releases of verl, and follow it in others (testing: in 0.5; checkpoints: in 0.5, and since 0.7.1). The step's own timer
-- decides, one such timer after the other: it is part of the step if the time that is left has room for it in every step that has it. The
-- tolerance of 0.01 s allows for rounding in logs.
-- Depends on c_metric.
CREATE TABLE c_timer AS
WITH RECURSIVE timer AS (   -- place: 0 for timers that are always part of the step, else their order
    FROM (VALUES
        ('timing_s/gen', 'rollout', 'generate_sequences', 0), ('timing_s/gen_max', 'rollout', 'generate_baseline', 0),
        ('timing_s/wait_for_enough_samples', 'rollout', 'wait_for_enough_samples', 0), ('timing_s/switch_wait', 'rollout', 'switch_wait', 0),
        ('timing_s/switch_to_trainer', 'rollout', 'switch_to_trainer', 0), ('timing_s/switch_to_rollout', 'rollout', 'switch_to_rollout', 0),
        ('timing_s/reward', 'reward', 'reward', 0), ('timing_s/old_log_prob', 'actor', 'old_log_prob', 0),
        ('timing_s/ref', 'ref', 'ref_log_prob', 0), ('timing_s/values', 'critic', 'values', 0), ('timing_s/adv', NULL, 'adv', 0),
        ('timing_s/update_critic', 'critic', 'update_critic', 0), ('timing_s/update_actor', 'actor', 'update_actor', 0),
        ('timing_s/update_weights', 'rollout', 'update_weights', 0), ('timing_s/sync_rollout_weights', 'rollout', 'sync_rollout_weights', 0),
        ('timing_s/param_sync', 'rollout', 'param_sync', 0), ('timing_s/timing_s/param_sync', 'rollout', 'param_sync', 0),
        ('timing_s/save_checkpoint', NULL, 'save_checkpoint', 1), ('timing_s/testing', NULL, 'testing', 2),
        ('timing_s/dump_rollout_generations', NULL, 'dump_rollout_generations', 3)
    ) AS timer(name, role, phase, place)
), beside AS (   -- runs whose generation runs beside the step
    SELECT DISTINCT side, run FROM c_metric
    WHERE name IN ('timing_s/generate_async', 'timing_s/sync_rollout_weights', 'timing_s/switch_to_trainer', 'timing_s/param_sync', 'timing_s/timing_s/param_sync')
       OR starts_with(name, 'fully_async/') OR starts_with(name, 'separate_async/')
    UNION   -- several versions of the model generate a trajectory, or a version before the last
    SELECT side, run FROM c_metric WHERE step > 1 AND name IN ('training/off_policy/trajectory_spans/max', 'training/off_policy/trajectory_staleness/max')
    GROUP BY side, run HAVING avg(value ORDER BY name, step) FILTER (ends_with(name, 'spans/max')) > 1.5 OR avg(value ORDER BY name, step) FILTER (ends_with(name, 'staleness/max')) > 0.5
), room AS (   -- time of the step minus the phases that are always part of it
    SELECT m.side, m.run, m.step,
           max(m.value) FILTER (m.name = 'timing_s/step') + 0.01 - coalesce(sum(m.value ORDER BY m.name) FILTER (t.place = 0), 0) AS seconds,
           map_from_entries(list((t.place, m.value)) FILTER (t.place > 0 AND m.value IS NOT NULL)) AS later
    FROM c_metric AS m LEFT JOIN timer AS t USING (name) GROUP BY ALL
), tried AS (
    SELECT 0 AS place, side, run, step, later, seconds, FALSE AS inside FROM room
    UNION ALL
    SELECT place + 1, side, run, step, later, seconds - CASE WHEN fits THEN coalesce(later[place + 1], 0) ELSE 0 END, coalesce(fits, FALSE)
    FROM (SELECT *, bool_and(seconds >= later[place + 1]) FILTER (later[place + 1] IS NOT NULL) OVER (PARTITION BY side, run) AS fits FROM tried)
    WHERE place < (SELECT max(place) FROM timer)
), known AS (
    SELECT DISTINCT side, run, place, inside OR place = 0 AS inside FROM tried
)
SELECT k.side, k.run, t.name, t.role, CASE WHEN t.name = 'timing_s/gen' AND b.run IS NOT NULL THEN 'wait_for_samples' ELSE t.phase END AS phase
FROM timer AS t JOIN known AS k USING (place) LEFT JOIN beside AS b ON b.side = k.side AND b.run = k.run
WHERE k.inside;
