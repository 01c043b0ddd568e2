-- Names of the same metric in different releases of verl. The canonical name is that of the first release; metrics of different releases
-- are matched by it.
CREATE TABLE IF NOT EXISTS c_metric_alias AS
WITH mismatch(stem) AS (
    VALUES ('kl'), ('k3_kl'), ('training_ppl'), ('training_log_ppl'), ('rollout_ppl'), ('rollout_log_ppl'), ('log_ppl_diff'),
           ('log_ppl_abs_diff'), ('log_ppl_diff_max'), ('log_ppl_diff_min'), ('ppl_ratio')
), weight(stem) AS (
    VALUES ('mean'), ('max'), ('min'), ('std'), ('eff_sample_size'), ('seq_mean'), ('seq_std'), ('seq_max'), ('seq_min'),
           ('seq_max_deviation'), ('seq_fraction_high'), ('seq_fraction_low'), ('ratio_fraction_high'), ('ratio_fraction_low'),
           ('veto_fraction'), ('catastrophic_token_fraction')
)
SELECT unnest(['mismatch/mismatch_' || stem, 'rollout_corr/' || stem, 'mismatch/' || stem, 'mismatch_' || stem]) AS name,
       'mismatch/mismatch_' || stem AS canonical
FROM mismatch
UNION ALL
SELECT unnest(['mismatch/rollout_is_' || stem, 'rollout_corr/rollout_is_' || stem, 'rollout_is_' || stem]), 'mismatch/rollout_is_' || stem
FROM weight
UNION ALL
FROM (VALUES
    ('mismatch/rollout_is_clipped_fraction', 'mismatch/rollout_is_clipped_fraction'),
    ('mismatch/rollout_is_masked_fraction', 'mismatch/rollout_is_clipped_fraction'),
    ('rollout_corr/rollout_rs_masked_fraction', 'mismatch/rollout_is_clipped_fraction'),
    ('mismatch/rollout_is_seq_clipped_fraction', 'mismatch/rollout_is_seq_clipped_fraction'),
    ('mismatch/rollout_is_seq_masked_fraction', 'mismatch/rollout_is_seq_clipped_fraction'),
    ('rollout_corr/rollout_rs_seq_masked_fraction', 'mismatch/rollout_is_seq_clipped_fraction')
);
