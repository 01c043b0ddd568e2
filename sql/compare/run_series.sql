-- Times, health and workload step by step: for each run and metric, the steps and their values, in order. Steps under a profiler and
-- warm-up steps are left out if there are others; so is validation before training. `phase`: the phase of the step that the timer
-- is; NULL: none. `left_out`: those of the steps that do not count for the mean (c_judged).
-- Depends on c_judged, c_metric, c_metric_name, c_timer.
-- Nothing without c_metric, c_metric_name.
WITH watched AS (
    SELECT CAST(name AS metric_name) AS name FROM c_metric_name
    WHERE starts_with(name, 'timing_s/') OR regexp_matches(name, '(^|/)(rollout_corr|mismatch)/|(^|/)perf/max_memory_|^(fully_async|separate_async)/')
       OR regexp_matches(name, '^actor/(entropy|grad_norm|ppo_kl|kl_loss|pg_loss)|^critic/(score/mean$|rewards/mean$|grad_norm|vf_loss|kl$)')
       OR regexp_matches(name, '^response_length/(mean|max|clip_ratio)$|^(prompt_length|num_turns|tool_call_counts)/mean$|^perf/total_num_tokens$')
       OR regexp_matches(name, '^global_seqlen/(mean|max|balanced_max)$|^perf/mfu/|^rollout/spec_accept_|^train/num_gen_batches$')
       OR regexp_matches(name, '^training/(rollout_probs_diff|off_policy)|^response/aborted_ratio$')
), known AS (
    SELECT side, run, name, step, value, coalesce(profiled OR warmup, FALSE) AS disturbed
    FROM c_metric SEMI JOIN watched USING (name) WHERE value IS NOT NULL AND step >= 0 AND NOT validation
), counted AS (
    SELECT side, run, name, bool_and(disturbed) AS disturbed FROM known GROUP BY ALL
)
SELECT k.side, k.run, k.name, any_value(t.phase) AS phase, list(k.step ORDER BY k.step) AS steps, list(k.value ORDER BY k.step) AS amounts,
       coalesce(list(k.step ORDER BY k.step) FILTER (j.step IS NULL), []) AS left_out
FROM known AS k JOIN counted AS c USING (side, run, name) LEFT JOIN c_timer AS t USING (side, run, name)
LEFT JOIN c_judged AS j ON j.side = k.side AND j.run = k.run AND j.name = k.name AND j.step = k.step
WHERE k.disturbed = c.disturbed GROUP BY k.side, k.run, k.name ORDER BY enum_code(k.name), k.side, k.run;
