-- Training's own timers as phases: per run, the mean in ns over the steps that count for speed. A phase that is missing in a step counts 0
-- there; `steps` of `of_steps` have it. In a step where its timer has no usable value (NaN), it counts as in the others, and what lies outside of
-- all timers is unknown: '(outside)' is a mean over the other steps. A run in which a timer never has a usable value, or each step lacks one, has
-- no phases. If all are usable, the phases sum to timing_s/step with '(outside)'. A remainder below one microsecond is rounding and counts
-- as 0, and so does a negative one: then timers overlap, and the phases exceed the step by `beyond_ns`. Where the step is the sum of its timers
-- (timing/*), what lies outside of them is unknown.
-- Depends on c_judged, c_metric, c_timer.
-- Nothing without c_judged, c_metric, c_timer.
WITH step_of AS (
    SELECT side, run, coalesce(step, -1) AS step, value FROM c_judged WHERE name = 'timing_s/step'
), whole AS (
    SELECT side, run, sum(value ORDER BY step) AS seconds, count(*) AS steps FROM step_of GROUP BY ALL
), timed AS (
    SELECT m.side, m.run, t.role, t.phase, m.name, s.step, m.value
    FROM c_metric AS m JOIN c_timer AS t USING (side, run, name) JOIN step_of AS s ON s.side = m.side AND s.run = m.run AND s.step = coalesce(m.step, -1)
), lost AS (
    SELECT DISTINCT side, run, step FROM timed WHERE value IS NULL
), complete AS (
    SELECT side, run, sum(value ORDER BY s.step) AS seconds, count(*) AS steps FROM step_of AS s ANTI JOIN lost USING (side, run, step) GROUP BY ALL
), part AS (
    SELECT t.side, t.run, t.role, t.phase, arg_max(t.name, t.value) AS timer, sum(t.value ORDER BY t.step) AS seconds,
           coalesce(sum(t.value ORDER BY t.step) FILTER (l.step IS NULL), 0) AS complete,
           count(DISTINCT t.step) AS steps, count(DISTINCT t.step) FILTER (t.value IS NOT NULL) AS usable
    FROM timed AS t LEFT JOIN lost AS l USING (side, run, step) GROUP BY ALL
), counted AS (
    SELECT p.side, p.run, p.role, p.phase, p.timer,
           CASE WHEN p.usable < p.steps THEN p.seconds * w.steps / (w.steps - (p.steps - p.usable)) ELSE p.seconds END AS seconds, p.steps, p.complete
    FROM part AS p JOIN whole AS w USING (side, run) SEMI JOIN complete USING (side, run)
    WHERE (p.side, p.run) NOT IN (SELECT (side, run) FROM part WHERE usable = 0)
), rest AS (
    SELECT w.side, w.run, NULL AS role, '(outside)' AS phase, NULL AS timer, (c.seconds - sum(p.complete ORDER BY p.phase)) * (w.steps / c.steps) AS seconds, w.steps
    FROM whole AS w JOIN complete AS c USING (side, run) JOIN counted AS p USING (side, run)
    WHERE (w.side, w.run) NOT IN (SELECT (side, run) FROM c_metric WHERE name = 'timing_s/step' AND given = 'timing/*')
    GROUP BY w.side, w.run, w.steps, c.seconds, c.steps
)
SELECT p.side, p.run, p.role, p.phase, p.timer, CASE WHEN p.phase = '(outside)' AND p.seconds < 1e-6 THEN 0 ELSE p.seconds * 1e9 / w.steps END AS ns,
       CASE WHEN p.phase = '(outside)' AND p.seconds < 0 THEN -p.seconds * 1e9 / w.steps ELSE 0 END AS beyond_ns, w.seconds * 1e9 / w.steps AS step_ns,
       p.steps, w.steps AS of_steps
FROM (SELECT * EXCLUDE (complete) FROM counted UNION ALL FROM rest) AS p JOIN whole AS w USING (side, run) ORDER BY p.phase, p.side, p.run;
