-- The metrics that tell whether training is healthy (docs/metrics.md, "Stability"), by step. Validation before training does
-- not count. `what` says how `rlcompare/compare/stability.py` judges a metric. Counts that a job sums up from its start are turned into their
-- increase. `mean` and `middle` (the median) are those of the last five steps that have a number, or of all steps if there are fewer.
-- Depends on c_metric, c_metric_name, in_part, middle_of.
-- Nothing without c_metric, c_metric_name.
CREATE TABLE IF NOT EXISTS c_watched (
    side ENUM('baseline', 'new') NOT NULL,
    run INTEGER NOT NULL,
    name metric_name NOT NULL,
    given metric_name NOT NULL,
    what VARCHAR NOT NULL,
    step BIGINT,
    value DOUBLE,
    before DOUBLE,
    shared BOOLEAN NOT NULL,
    place BIGINT,
    steps BIGINT,
    tenth BIGINT,
    shared_left BIGINT,
    shared_tenth BIGINT,
    window_step BIGINT,
    all_shared BOOLEAN,
    mean DOUBLE,
    middle DOUBLE
);
INSERT INTO c_watched BY NAME
WITH chosen AS (   -- no name matches two patterns
    SELECT DISTINCT CAST(name AS metric_name) AS name, CASE
        WHEN regexp_matches(name, '^actor/entropy(_loss)?$') THEN 'entropy'
        WHEN regexp_matches(name, '^(actor|critic)/grad_norm$') THEN 'gradient'
        WHEN regexp_matches(name, '^(actor|critic)/(pg_|vf_)?loss$') THEN 'loss'
        WHEN regexp_matches(name, '^critic/(score|rewards)/mean$') THEN 'reward'
        WHEN regexp_matches(name, '^val-core/.*/mean@[0-9]+$') THEN 'validation'
        WHEN regexp_matches(name, '^actor/ppo_kl$') THEN 'policy_kl'
        WHEN regexp_matches(name, '^(actor/kl_loss|actor/reward_kl_penalty|critic/kl)$') THEN 'reference_kl'
        WHEN regexp_matches(name, '(^|/)(mismatch|rollout_corr)/(mismatch_)?(kl|k3_kl)$') THEN 'rollout_kl'
        WHEN regexp_matches(name, '(^|/)(mismatch_)?chi2_token$') THEN 'chi2_token'
        WHEN regexp_matches(name, '(^|/)(mismatch_)?chi2_seq$') THEN 'chi2_seq'
        WHEN regexp_matches(name, '(^|/)rollout_is_eff_sample_size$') THEN 'ess'
        WHEN regexp_matches(name, '(^|/)rollout_is_mean$') THEN 'weight_mean'
        WHEN regexp_matches(name, '(^|/)rollout_is_std$') THEN 'weight_std'
        WHEN regexp_matches(name, '(^|/)rollout_is_veto_fraction$') THEN 'vetoed'
        WHEN regexp_matches(name, '(^|/)rollout_(is_(catastrophic_token_fraction|(seq_)?clipped_fraction)|rs_.*masked_fraction)$') THEN 'weight_lost'
        WHEN regexp_matches(name, '^training/rollout_probs_diff_mean$') THEN 'apart'
        WHEN regexp_matches(name, '^training/off_policy/trajectory_(staleness|staleness_worst|spans)/(mean|max)$') THEN 'staleness'
        WHEN regexp_matches(name, '^fully_async/(.*/)?staleness_samples$') THEN 'staleness'
        WHEN regexp_matches(name, '^fully_async/count/stale_(samples|trajectory)_processed$') THEN 'stale_count'
        WHEN regexp_matches(name, '^response/aborted_ratio$') THEN 'aborted'
        WHEN regexp_matches(name, '^response_length/clip_ratio$') THEN 'clipped'
        WHEN regexp_matches(name, '^training/(off_policy|rollout_failure)/evicted_samples$') THEN 'evicted'
        WHEN regexp_matches(name, '^fully_async/(.*/)?dropped(_stale)?_samples$') THEN 'evicted_count'
    END AS what FROM (FROM c_metric_name WHERE in_part(CAST(name AS metric_name))) WHERE what IS NOT NULL
), met AS (
    SELECT name, step FROM c_metric SEMI JOIN chosen USING (name) WHERE in_part(name) GROUP BY name, step HAVING bool_or(side = 'baseline') AND bool_or(side = 'new')
), given AS (
    SELECT m.side, m.run, m.name, m.given, c.what, m.step, m.value, b.name IS NOT NULL AS shared
    FROM c_metric AS m JOIN chosen AS c USING (name) LEFT JOIN met AS b ON b.name = m.name AND b.step = m.step
    WHERE m.step IS NOT NULL AND NOT m.validation AND in_part(m.name)
), grown AS (
    SELECT * REPLACE (value - coalesce(lag(value) OVER (PARTITION BY side, run, enum_code(name) ORDER BY step), 0) AS value)
    FROM given WHERE what LIKE '%\_count' ESCAPE '\'
    UNION ALL
    FROM given WHERE what NOT LIKE '%\_count' ESCAPE '\'
), counted AS (
    SELECT side, run, name, count(*) AS steps, count(*) FILTER (shared) AS shared_steps FROM grown WHERE value IS NOT NULL GROUP BY ALL
), placed AS (   -- steps without a number have no place
    SELECT *, row_number() OVER known AS place, lag(value) OVER known AS before,
           lag(value, 2) OVER known AS second, lag(value, 3) OVER known AS third, lag(value, 4) OVER known AS fourth,
           coalesce(lag(step, 4) OVER known, first_value(step) OVER known) AS first, bool_and(shared) OVER five AS all_shared,
           count(CASE WHEN shared THEN 1 END) OVER so_far AS shared_place
    FROM grown JOIN counted USING (side, run, name) WHERE value IS NOT NULL
    WINDOW known AS (PARTITION BY side, run, enum_code(name) ORDER BY step),
           five AS (PARTITION BY side, run, enum_code(name) ORDER BY step ROWS BETWEEN 4 PRECEDING AND CURRENT ROW),
           so_far AS (PARTITION BY side, run, enum_code(name) ORDER BY step ROWS UNBOUNDED PRECEDING)
)
SELECT side, run, name, given, what, step, value, before, shared, place, steps, greatest(steps // 10, least(3, (steps + 1) // 2)) AS tenth,
       CASE WHEN shared THEN shared_steps - shared_place END AS shared_left,
       CASE WHEN shared THEN greatest(shared_steps // 10, least(3, (shared_steps + 1) // 2)) END AS shared_tenth,
       first AS window_step, all_shared,
       CASE WHEN place >= 5 THEN (fourth + third + second + before + value) / 5
            WHEN place = steps THEN list_avg([third, second, before, value]) END AS mean,
       CASE WHEN place >= 5 THEN middle_of(greatest(least(before, second), least(third, fourth)), least(greatest(before, second), greatest(third, fourth)), value)
            WHEN place = steps THEN list_median([third, second, before, value]) END AS middle
FROM placed
UNION ALL BY NAME
SELECT side, run, name, given, what, step, value, shared FROM grown WHERE value IS NULL;
