-- Times, health and workload step by step: for each run and metric, the steps and their values, in order. Steps under a profiler and
-- warm-up steps are left out if there are others; so is step 0, validation before training. `part`: the timer is a phase of the step.
-- Depends on c_metric, c_timer.
WITH watched AS (
    SELECT side, run, name, step, value, coalesce(profiled OR warmup, FALSE) AS disturbed
    FROM c_metric
    WHERE value IS NOT NULL AND step > 0
      AND regexp_matches(name, '^timing_s/|(^|/)(rollout_corr|mismatch)/|^perf/(max_memory_|total_num_tokens)|/perf/max_memory_|^actor/(entropy|grad_norm|ppo_kl|kl_loss|pg_loss|pg_clipfrac$)|^critic/((score|rewards)/mean$|grad_norm|vf_loss|kl$)|^response_length/(mean|max|clip_ratio)$|^prompt_length/mean$|^num_turns/(mean|max)$|^training/(rollout_probs_diff|off_policy)|^(fully_async|separate_async)/|^response/aborted_ratio$')
), kept AS (
    SELECT * FROM watched QUALIFY NOT disturbed OR bool_and(disturbed) OVER (PARTITION BY side, run, name)
)
SELECT k.side, k.run, k.name, list(k.step ORDER BY k.step) AS steps, list(k.value ORDER BY k.step) AS "values",
       EXISTS (FROM c_timer AS t WHERE t.side = k.side AND t.run = k.run AND t.name = k.name) AS part
FROM kept AS k GROUP BY k.side, k.run, k.name ORDER BY k.name, k.side, k.run;
