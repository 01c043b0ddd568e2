-- Training's own timers as phases: per run, the mean in ns over the steps that count for speed. A phase that is missing in a step counts 0
-- there; `steps` of `of_steps` have it. Together with '(outside)' the phases sum to timing_s/step. A remainder below one microsecond is
-- rounding and counts as 0, and so does a negative one: then timers overlap, and the phases exceed the step by `beyond_ns`.
-- Depends on c_judged, c_metric, c_timer.
-- Nothing without c_judged, c_metric, c_timer.
WITH step_of AS (
    SELECT side, run, step, value FROM c_judged WHERE name = 'timing_s/step'
), whole AS (
    SELECT side, run, sum(value ORDER BY step) AS seconds, count(*) AS steps FROM step_of GROUP BY ALL
), part AS (
    SELECT m.side, m.run, t.role, t.phase, arg_max(m.name, m.value) AS timer, sum(m.value ORDER BY m.step) AS seconds, count(DISTINCT coalesce(m.step, -1)) AS steps
    FROM c_metric AS m JOIN c_timer AS t USING (side, run, name) JOIN step_of AS s ON s.side = m.side AND s.run = m.run AND s.step IS NOT DISTINCT FROM m.step
    WHERE m.value IS NOT NULL GROUP BY ALL
), rest AS (
    SELECT w.side, w.run, NULL AS role, '(outside)' AS phase, NULL AS timer, w.seconds - sum(p.seconds ORDER BY p.phase) AS seconds, w.steps
    FROM whole AS w JOIN part AS p USING (side, run) GROUP BY w.side, w.run, w.seconds, w.steps
)
SELECT p.side, p.run, p.role, p.phase, p.timer, CASE WHEN p.phase = '(outside)' AND p.seconds < 1e-6 THEN 0 ELSE p.seconds * 1e9 / w.steps END AS ns,
       CASE WHEN p.phase = '(outside)' AND p.seconds < 0 THEN -p.seconds * 1e9 / w.steps ELSE 0 END AS beyond_ns, w.seconds * 1e9 / w.steps AS step_ns,
       p.steps, w.steps AS of_steps
FROM (FROM part UNION ALL FROM rest) AS p JOIN whole AS w USING (side, run) ORDER BY p.phase, p.side, p.run;
