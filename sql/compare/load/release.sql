-- The releases of verl that a run may have used, as minor * 10 + patch: the release that the run states, else the bounds that follow from
-- the names of its metrics and settings. 0 to 999 if there are no bounds, or if they contradict each other.
-- Variables: run, side.
-- Depends on c_logged, env, finding.
CREATE TABLE IF NOT EXISTS c_release (side VARCHAR NOT NULL, run INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL);
INSERT INTO c_release
WITH mark(kind, pattern, low, high) AS (   -- a metric or setting of this name exists from release low to release high
    VALUES ('metric', 'mismatch/%', 60, 60), ('metric', 'response/aborted_ratio', 60, 999), ('metric', 'rollout_corr/%', 61, 999),
           ('metric', 'rollout_corr/rollout_is_veto_fraction', 61, 70), ('metric', 'perf/mfu/actor_infer', 70, 999),
           ('metric', 'timing_s/generation_timing/%', 60, 71), ('metric', 'timing_s/agent_loop/num_preempted/%', 71, 999),
           ('metric', 'actor/entropy_loss', 71, 999), ('metric', 'timing_s/agent_loop/compute_score/%', 80, 999),
           ('metric', 'rollout_corr/rollout_is_oob_ratio', 80, 999),
           ('setting', 'actor_rollout_ref.profiler.discrete', 0, 50), ('setting', 'actor_rollout_ref.actor.profiler.enable', 60, 999),
           ('setting', 'algorithm.rollout_is_level', 60, 60), ('setting', 'algorithm.rollout_correction.%', 61, 999),
           ('setting', 'algorithm.rollout_correction.use_policy_gradient', 61, 61), ('setting', 'actor_rollout_ref.actor.tau_pos', 70, 999),
           ('setting', 'algorithm.rollout_correction.rollout_token_veto_threshold', 61, 70), ('setting', 'data.sampler.class_path', 0, 71),
           ('setting', 'actor_rollout_ref.rollout.nnodes', 71, 999), ('setting', 'actor_rollout_ref.model.lora.rank', 80, 999),
           ('setting', 'actor_rollout_ref.rollout.seed', 90, 999)
), absent(has, lacks, low, high) AS (      -- has a metric of the first name and none of the second
    VALUES ('rollout_corr/rollout_is_%', 'rollout_corr/rollout_is_veto_fraction', 71, 999),
           ('timing_s/agent_loop/generate_sequences/%', 'timing_s/agent_loop/num_preempted/%', 0, 70),
           ('timing_s/agent_loop/generate_sequences/%', 'timing_s/agent_loop/compute_score/%', 0, 71)
), told AS (
    SELECT 'metric' AS kind, name FROM c_logged WHERE side = getvariable('side') AND run = getvariable('run')
    UNION ALL SELECT DISTINCT 'setting', key FROM store.env WHERE capture IS NULL
), bound AS (
    SELECT low, high FROM mark JOIN told ON told.kind = mark.kind AND told.name LIKE mark.pattern
    UNION ALL
    SELECT low, high FROM absent
    WHERE EXISTS (FROM told WHERE kind = 'metric' AND name LIKE has) AND NOT EXISTS (FROM told WHERE kind = 'metric' AND name LIKE lacks)
    UNION ALL   -- the console rounded to three decimals before 0.5
    SELECT 0, 49 FROM store.finding WHERE key = 'rounded_metrics'
), stated AS (
    SELECT max(10 * CAST(regexp_extract(value, '^0\.(\d{1,2})\.(\d)', 1) AS INTEGER) + CAST(regexp_extract(value, '^0\.(\d{1,2})\.(\d)', 2) AS INTEGER)) AS release
    FROM store.env WHERE key = 'verl' AND regexp_matches(value, '^0\.\d{1,2}\.\d')
), inferred AS (
    SELECT coalesce(max(low), 0) AS low, coalesce(min(high), 999) AS high FROM bound
)
SELECT getvariable('side'), getvariable('run'), coalesce(release, CASE WHEN low <= high THEN low ELSE 0 END),
       coalesce(release, CASE WHEN low <= high THEN high ELSE 999 END)
FROM stated, inferred;
