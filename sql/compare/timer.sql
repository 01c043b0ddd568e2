-- Training's timers that are phases of the step, with the role that does the work. What verl times after the step (testing, checkpoints) is
-- no part of it, nor are timers within timers.
CREATE TABLE c_timer AS
FROM (VALUES
    ('timing_s/gen', 'rollout', 'generate_sequences'), ('timing_s/gen_max', 'rollout', 'generate_baseline'),
    ('timing_s/reward', 'reward', 'reward'), ('timing_s/old_log_prob', 'actor', 'old_log_prob'),
    ('timing_s/ref', 'ref', 'ref_log_prob'), ('timing_s/values', 'critic', 'values'), ('timing_s/adv', NULL, 'adv'),
    ('timing_s/update_critic', 'critic', 'update_critic'), ('timing_s/update_actor', 'actor', 'update_actor'),
    ('timing_s/update_weights', 'rollout', 'update_weights')
) AS timer(name, role, phase);
