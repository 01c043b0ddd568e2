-- Names under which verl's releases log a metric, and the name of the first, under which runs of different releases meet. `drift` marks
-- those whose meaning changed with the later prefix: 'applied' (from 0.8 on of the weights as they were applied, before that of the weights
-- as they came), 'geometric' (at rollout_is_level=geometric counted over rows instead of tokens).
CREATE TABLE IF NOT EXISTS c_metric_alias AS
WITH mismatch(stem) AS (
    VALUES ('kl'), ('k3_kl'), ('training_ppl'), ('training_log_ppl'), ('rollout_ppl'), ('rollout_log_ppl'), ('log_ppl_diff'),
           ('log_ppl_abs_diff'), ('log_ppl_diff_max'), ('log_ppl_diff_min'), ('ppl_ratio')
), weight(stem, drift) AS (
    VALUES ('mean', 'applied'), ('max', 'applied'), ('min', 'applied'), ('std', 'applied'), ('eff_sample_size', 'applied'),
           ('seq_mean', 'applied'), ('seq_std', 'applied'), ('seq_max', 'applied'), ('seq_min', 'applied'),
           ('seq_max_deviation', 'applied'), ('seq_fraction_high', 'applied'), ('seq_fraction_low', 'applied'),
           ('ratio_fraction_high', 'geometric'), ('ratio_fraction_low', 'geometric'),
           ('veto_fraction', NULL), ('catastrophic_token_fraction', NULL)
)
SELECT unnest(['mismatch/mismatch_' || stem, 'rollout_corr/' || stem, 'mismatch/' || stem, 'mismatch_' || stem]) AS name,
       'mismatch/mismatch_' || stem AS canonical, CAST(NULL AS VARCHAR) AS drift
FROM mismatch
UNION ALL
SELECT unnest(['mismatch/rollout_is_' || stem, 'rollout_corr/rollout_is_' || stem, 'rollout_is_' || stem]),
       'mismatch/rollout_is_' || stem, drift
FROM weight
UNION ALL
FROM (VALUES
    ('mismatch/rollout_is_clipped_fraction', 'mismatch/rollout_is_clipped_fraction', NULL),
    ('mismatch/rollout_is_masked_fraction', 'mismatch/rollout_is_clipped_fraction', NULL),
    ('rollout_corr/rollout_rs_masked_fraction', 'mismatch/rollout_is_clipped_fraction', NULL),
    ('mismatch/rollout_is_seq_clipped_fraction', 'mismatch/rollout_is_seq_clipped_fraction', NULL),
    ('mismatch/rollout_is_seq_masked_fraction', 'mismatch/rollout_is_seq_clipped_fraction', NULL),
    ('rollout_corr/rollout_rs_seq_masked_fraction', 'mismatch/rollout_is_seq_clipped_fraction', NULL)
);
