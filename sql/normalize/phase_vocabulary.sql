-- Names of marks that are phases of an RL step: verl's method names, its role names in discrete mode, and rlcompare's own names. Since verl
-- 0.8 the general worker updates the critic. Its mark train_batch means update_critic only in captures with the role critic.
-- Depends on capture.
-- Nothing without capture.
CREATE OR REPLACE TEMP TABLE phase_vocabulary AS
SELECT c.capture, vocabulary.* FROM capture AS c CROSS JOIN (VALUES
    ('generate_sequences', 'rollout', 'generate_sequences'), ('rollout_generate', 'rollout', 'generate_sequences'),
    ('gen', 'rollout', 'generate_sequences'), ('generate', 'rollout', 'generate_sequences'), ('rollout', 'rollout', 'generate_sequences'),
    ('async_generate_sequences', 'rollout', 'generate_sequences'),
    ('reward', 'reward', 'reward'), ('compute_reward', 'reward', 'reward'), ('compute_rm_score', 'reward', 'reward'), ('rm_score', 'reward', 'reward'),
    ('compute_log_prob', 'actor', 'old_log_prob'), ('actor_compute_log_prob', 'actor', 'old_log_prob'), ('old_log_prob', 'actor', 'old_log_prob'),
    ('compute_old_log_prob', 'actor', 'old_log_prob'),
    ('compute_ref_log_prob', 'ref', 'ref_log_prob'), ('ref_compute_log_prob', 'ref', 'ref_log_prob'), ('ref_log_prob', 'ref', 'ref_log_prob'),
    ('ref', 'ref', 'ref_log_prob'),
    ('compute_values', 'critic', 'values'), ('critic_compute_values', 'critic', 'values'), ('values', 'critic', 'values'),
    ('adv', NULL, 'adv'), ('compute_advantage', NULL, 'adv'),
    ('update_critic', 'critic', 'update_critic'), ('critic_update', 'critic', 'update_critic'),
    ('update_actor', 'actor', 'update_actor'), ('actor_update', 'actor', 'update_actor'), ('update_policy', 'actor', 'update_actor'),
    ('update_weights', 'rollout', 'update_weights'), ('save_checkpoint', NULL, 'save_checkpoint'), ('testing', NULL, 'testing')
) AS vocabulary(mark, role, name)
UNION ALL SELECT capture, 'train_batch', 'critic', 'update_critic' FROM capture WHERE role = 'critic';
