-- When the steps of a run were: from the end of the step before, if no more than the step, its test and its checkpoint lie between the two
-- times at which steps were logged, else backwards from the time at which it was logged. Steps without a timer of their own go from the
-- step before; step 0 without one is validation before training.
-- Variables: step_timers.
-- Depends on metric, stage_logged.
CREATE OR REPLACE TEMP TABLE stage_step_time AS
WITH timer AS (
    SELECT step, 1e9 * max(value) FILTER (list_contains(getvariable('step_timers'), name)) AS step_ns,
           1e9 * coalesce(max(value) FILTER (name = 'timing_s/testing'), 0) + 1e9 * coalesce(max(value) FILTER (name = 'timing_s/save_checkpoint'), 0) AS beside_ns
    FROM metric WHERE isfinite(value) AND value BETWEEN 0 AND 1e9 GROUP BY step
), logged AS (
    SELECT l.step, l.time_ns, lag(l.time_ns) OVER (ORDER BY l.step) AS before_ns, lag(l.step) OVER (ORDER BY l.step) AS before, t.step_ns, t.beside_ns
    FROM stage_logged AS l LEFT JOIN timer AS t USING (step)
), begun AS (
    SELECT *, CASE WHEN before = step - 1 AND (step_ns IS NULL OR time_ns - before_ns <= 1.1 * step_ns + beside_ns) THEN before_ns
                   WHEN step_ns IS NOT NULL THEN time_ns - step_ns::BIGINT END AS start_ns
    FROM logged
)
SELECT step, start_ns, least(time_ns, start_ns + coalesce(step_ns::BIGINT, time_ns - start_ns)) AS end_ns
FROM begun WHERE start_ns < time_ns AND coalesce(step_ns, 1) > 0 AND (step <> 0 OR step_ns IS NOT NULL);
