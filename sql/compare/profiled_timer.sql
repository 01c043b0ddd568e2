-- Training's own times of the steps that ran under the profiler: per run, the mean in ns of each phase, and of the whole step (phase NULL).
-- If the profile has steps with the same numbers, only the selected ones count.
-- Depends on c_metric, c_step, c_timer.
-- Nothing without c_metric.
WITH known AS (
    SELECT DISTINCT m.side, m.run, m.step, s.selected
    FROM c_metric AS m JOIN c_step AS s ON s.side = m.side AND s.run = m.run AND s.step = m.step
    WHERE m.profiled AND m.name = 'timing_s/step'
), step_of AS (
    SELECT m.side, m.run, m.step, m.value
    FROM c_metric AS m
    WHERE m.name = 'timing_s/step' AND m.profiled AND m.value IS NOT NULL
      AND (EXISTS (FROM known AS k WHERE k.side = m.side AND k.run = m.run AND k.step = m.step AND k.selected)
           OR NOT EXISTS (FROM known AS k WHERE k.side = m.side AND k.run = m.run))
), whole AS (
    SELECT side, run, sum(value ORDER BY step) AS seconds, count(*) AS steps FROM step_of GROUP BY ALL
), part AS (
    SELECT m.side, m.run, t.phase, sum(m.value ORDER BY m.step) AS seconds
    FROM c_metric AS m JOIN c_timer AS t USING (side, run, name) JOIN step_of AS s ON s.side = m.side AND s.run = m.run AND s.step = m.step
    WHERE m.value IS NOT NULL GROUP BY ALL
    UNION ALL
    SELECT side, run, NULL, seconds FROM whole
)
SELECT p.side, p.run, p.phase, p.seconds * 1e9 / w.steps AS ns
FROM part AS p JOIN whole AS w USING (side, run) ORDER BY p.phase, p.side, p.run;
