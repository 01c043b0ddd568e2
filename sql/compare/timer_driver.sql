-- How timers follow the amount of work from step to step, per run: means, variances and covariances of a timer and of one or two metrics that
-- drive it, over the steps that count and have all of them. `place` is the order of preference among the drivers of a timer. The longest
-- response decides the number of decode steps, and the mean response how full they are; the busiest rank decides the passes over the batch.
-- Depends on c_judged, c_metric_name.
-- Nothing without c_judged, c_metric_name.
WITH driver(place, timer, first, second) AS (
    SELECT place, timer, first, second
    FROM (VALUES ('timing_s/gen'), ('timing_s/generate_sequences'), ('timing_s/generation_timing/max'), ('timing_s/generate_async'),
               ('timing_s/agent_loop/slowest/generate_sequences')) AS t(timer),
         (VALUES (0, 'workload.decode_steps', NULL), (1, 'train/num_gen_batches', 'response_length/max'),
                 (2, 'timing_s/agent_loop/slowest/response_length', NULL), (3, 'response_length/max', 'response_length/mean')) AS d(place, first, second)
    UNION ALL
    SELECT place, timer, first, second
    FROM (VALUES ('timing_s/update_actor'), ('timing_s/update_critic'), ('timing_s/old_log_prob'), ('timing_s/ref'), ('timing_s/values')) AS t(timer),
         (VALUES (1, 'global_seqlen/balanced_max', NULL), (2, 'global_seqlen/max', NULL), (3, 'perf/total_num_tokens', NULL),
                 (4, 'workload.total_tokens', NULL)) AS d(place, first, second)
), needed AS MATERIALIZED (   -- a join would else hold all metrics
    SELECT * FROM c_judged WHERE name IN (SELECT CAST(metric AS metric_name) FROM (SELECT unnest([timer, first, second]) AS metric FROM driver) WHERE metric IN (SELECT name FROM c_metric_name))
), found AS (
    SELECT d.*, y.side, y.run, y.step, y.value AS y, a.value AS a, b.value AS b
    FROM driver AS d JOIN needed AS y ON y.name = d.timer
    JOIN needed AS a ON a.name = d.first AND a.side = y.side AND a.run = y.run AND a.step = y.step
    LEFT JOIN needed AS b ON b.name = d.second AND b.side = y.side AND b.run = y.run AND b.step = y.step
)
SELECT side, run, place, timer, first, second, count(*) AS steps,
       avg(y ORDER BY step) AS timer_mean, avg(a ORDER BY step) AS first_mean, avg(b ORDER BY step) AS second_mean,
       var_samp(y ORDER BY step) AS timer_variance, var_samp(a ORDER BY step) AS first_variance, var_samp(b ORDER BY step) AS second_variance,
       covar_samp(y, a ORDER BY step) AS with_first, covar_samp(y, b ORDER BY step) AS with_second, covar_samp(a, b ORDER BY step) AS of_both
FROM found GROUP BY side, run, place, timer, first, second ORDER BY timer, place, side, run;
