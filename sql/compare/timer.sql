-- Training's timers that are phases of the step, per run, with the role that does the work. Timers inside timers are left out. Checkpoints
-- and testing are part of the step in some releases of verl (both in 0.5, checkpoints since 0.7.1), and follow the step in others. The
-- step's own timer decides: checkpoints are part of the step if its time has room for them in every step that made one. The same holds for
-- testing in the time that is left. The tolerance of 0.01 s allows for rounding in logs.
-- Depends on c_metric.
CREATE TABLE c_timer AS
WITH timer AS (
    FROM (VALUES
        ('timing_s/gen', 'rollout', 'generate_sequences'), ('timing_s/gen_max', 'rollout', 'generate_baseline'),
        ('timing_s/reward', 'reward', 'reward'), ('timing_s/old_log_prob', 'actor', 'old_log_prob'),
        ('timing_s/ref', 'ref', 'ref_log_prob'), ('timing_s/values', 'critic', 'values'), ('timing_s/adv', NULL, 'adv'),
        ('timing_s/update_critic', 'critic', 'update_critic'), ('timing_s/update_actor', 'actor', 'update_actor'),
        ('timing_s/update_weights', 'rollout', 'update_weights'),
        ('timing_s/save_checkpoint', NULL, 'save_checkpoint'), ('timing_s/testing', NULL, 'testing')
    ) AS timer(name, role, phase)
), room AS (   -- time of the step minus the phases that are always part of it
    SELECT m.side, m.run, m.step, max(m.value) FILTER (m.name = 'timing_s/save_checkpoint') AS save,
           max(m.value) FILTER (m.name = 'timing_s/testing') AS testing,
           max(m.value) FILTER (m.name = 'timing_s/step') + 0.01 - coalesce(
               sum(m.value) FILTER (m.name IN (SELECT name FROM timer) AND m.name NOT IN ('timing_s/save_checkpoint', 'timing_s/testing')), 0
           ) AS seconds
    FROM c_metric AS m GROUP BY ALL
), saved AS (
    SELECT side, run, coalesce(bool_and(seconds >= save) FILTER (save IS NOT NULL), FALSE) AS inside FROM room GROUP BY ALL
), tested AS (
    SELECT r.side, r.run,
           coalesce(bool_and(r.seconds - CASE WHEN s.inside THEN coalesce(r.save, 0) ELSE 0 END >= r.testing) FILTER (r.testing IS NOT NULL), FALSE) AS inside
    FROM room AS r JOIN saved AS s USING (side, run) GROUP BY r.side, r.run
)
SELECT s.side, s.run, t.name, t.role, t.phase
FROM timer AS t, saved AS s JOIN tested AS e USING (side, run)
WHERE CASE t.phase WHEN 'save_checkpoint' THEN s.inside WHEN 'testing' THEN e.inside ELSE TRUE END;
