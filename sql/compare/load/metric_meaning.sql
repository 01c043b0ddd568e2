-- Metrics whose meaning changed in a release of verl, by canonical name. A meaning holds from `since` until before `until`, as minor * 10 +
-- patch of the release (0.6.1 is 61). `needs`: it holds only if a setting of importance sampling has this value.
CREATE TABLE IF NOT EXISTS c_metric_meaning AS
WITH weight(stem) AS (
    VALUES ('mean'), ('max'), ('min'), ('std'), ('eff_sample_size'), ('seq_mean'), ('seq_std'), ('seq_max'), ('seq_min'), ('seq_max_deviation')
), loss(name) AS (
    VALUES ('actor/pg_loss'), ('actor/kl_loss')
), changed(name, since, meaning, needs) AS (
    SELECT 'mismatch/rollout_is_' || stem, since, meaning, NULL
    FROM weight, (VALUES (0, 'of the weights before they are bounded'), (80, 'of the weights as they are applied')) AS m(since, meaning)
    UNION ALL
    SELECT 'mismatch/rollout_is_seq_fraction_' || bound, since, meaning, NULL
    FROM (VALUES ('high'), ('low')) AS b(bound),
         (VALUES (0, 'of the weights before they are bounded'), (80, 'of the weights as they are applied'),
                 (90, 'of the weights before they are bounded')) AS m(since, meaning)
    UNION ALL
    SELECT 'mismatch/rollout_is_ratio_fraction_' || bound, since, meaning, 'geometric'
    FROM (VALUES ('high'), ('low')) AS b(bound), (VALUES (0, 'counted over tokens'), (61, 'counted over sequences')) AS m(since, meaning)
    UNION ALL   -- as with FSDP; Megatron's changes differ and are not modelled
    SELECT name, since, meaning, NULL
    FROM loss, (VALUES (0, 'the mean over micro batches'), (60, 'the mean over micro batches, each scaled by its share of a mini batch'),
                       (70, 'the sum over micro batches, each scaled by its share of a mini batch'),
                       (80, 'summed as the loss is normalised, over the global batch')) AS m(since, meaning)
)
SELECT *, lead(since, 1, 1000) OVER (PARTITION BY name ORDER BY since) AS until FROM changed;
