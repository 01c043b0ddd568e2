-- Timers inside a phase that training timed, per run: the mean in ns over the steps that count for speed. A way to divide the phase is used
-- only if the parts fit into it in nearly all steps. timing_s/generate_sequences is a mean over workers, of which the slowest one decides.
-- The slowest sample of an agent loop decides how long its generation takes, so its times are parts of the phase; means and extremes over
-- samples are not, as samples overlap. Where generation runs beside the step, none of it is a part of the phase.
-- Depends on c_judged, c_timer.
-- Nothing without c_judged, c_timer.
WITH inner_timer(way, phase, name, part) AS (
    VALUES (1, 'generate_sequences', 'timing_s/agent_loop/slowest/generate_sequences', 'the generation of the slowest sample'),
           (1, 'generate_sequences', 'timing_s/agent_loop/slowest/tool_calls', 'the tool calls of the slowest sample'),
           (1, 'generate_sequences', 'timing_s/agent_loop/slowest/compute_score', 'the reward of the slowest sample'),
           (2, 'generate_sequences', 'timing_s/generation_timing/max', 'generation on the slowest worker'),
           (3, 'generate_sequences', 'timing_s/generate_sequences', 'generation itself'),
           (3, 'generate_sequences', 'timing_s/reshard', 'waking up and loading weights')
), again AS (   -- each batch that a step generates sets the inner timers anew
    SELECT DISTINCT side, run FROM c_judged WHERE name = 'train/num_gen_batches'
), outer_of AS (
    SELECT t.side, t.run, t.phase, j.step, j.value FROM c_timer AS t JOIN c_judged AS j USING (side, run, name)
), inner_of AS (
    SELECT j.side, j.run, i.way, i.phase, i.part, i.name, j.step, j.value FROM c_judged AS j JOIN inner_timer AS i USING (name)
), filled AS (
    SELECT i.side, i.run, i.way, i.phase, i.step, sum(i.value ORDER BY i.name) AS value, any_value(o.value) AS room
    FROM inner_of AS i JOIN outer_of AS o USING (side, run, phase, step) ANTI JOIN again USING (side, run) GROUP BY i.side, i.run, i.way, i.phase, i.step
), fitting AS (
    SELECT side, run, way, phase FROM filled GROUP BY ALL HAVING avg(CASE WHEN value <= 1.02 * room + 0.01 THEN 1 ELSE 0 END) >= 0.95
), step_of AS (
    SELECT side, run, count(*) AS steps FROM c_judged WHERE name = 'timing_s/step' GROUP BY ALL
)
SELECT i.side, i.run, i.way, i.phase, i.part, i.name, sum(i.value ORDER BY i.step) * 1e9 / any_value(s.steps) AS ns
FROM inner_of AS i JOIN fitting USING (side, run, way, phase) JOIN step_of AS s USING (side, run)
GROUP BY i.side, i.run, i.way, i.phase, i.part, i.name ORDER BY i.way, i.phase, i.name, i.side, i.run;
