-- Training's timers that are phases of the step, per run, with the role that does the work (c_metric_entry). Timers inside timers are not
-- listed. Where generation runs beside the step, timing_s/gen is the time that the trainer waits for samples. Some timers are part of the
-- step in some releases of verl, and follow it in others (testing: in 0.5; checkpoints: in 0.5, and since 0.7.1); the one of
-- dump_rollout_generations is treated alike. The step's own timer decides, one such timer after the other: it is part of the step if the
-- time that is left has room for it in every step that has it. The tolerance of 0.01 s allows for rounding in logs.
-- Depends on c_metric, c_metric_entry.
-- Nothing without c_metric, c_metric_entry.
CREATE TABLE c_timer AS
WITH RECURSIVE later(name, place) AS (   -- timers that may follow the step, in the order in which they are tried
    VALUES ('timing_s/save_checkpoint', 1), ('timing_s/testing', 2), ('timing_s/dump_rollout_generations', 3)
), timer AS (
    SELECT e.side, e.run, e.name, e.role, e.phase, coalesce(l.place, 0) AS place
    FROM c_metric_entry AS e LEFT JOIN later AS l USING (name)
    WHERE e.inside = 'timing_s/step' AND e.kind IN ('part', 'wait') AND e.phase IS NOT NULL
), off_policy AS (
    SELECT side, run, avg(value ORDER BY step) FILTER (ends_with(name, 'spans/max')) AS spans,
           avg(value ORDER BY step) FILTER (ends_with(name, 'staleness/max')) AS staleness
    FROM c_metric WHERE step > 1 AND name IN ('training/off_policy/trajectory_spans/max', 'training/off_policy/trajectory_staleness/max')
    GROUP BY side, run
), beside AS (   -- Several versions of the model generate a trajectory, or one before the last: generation does not wait for the step. A run near
                 -- the limit goes with the others, or one timer would have two names.
    SELECT side, run FROM off_policy
    WHERE spans > 1.5 OR staleness > 0.5
       OR ((spans > 1.25 OR staleness > 0.25) AND (SELECT bool_or(spans > 1.5 OR staleness > 0.5) FROM off_policy))
), room AS (   -- time of the step minus the phases that are always part of it
    SELECT m.side, m.run, m.step,
           max(m.value) FILTER (m.name = 'timing_s/step') + 0.01 - coalesce(sum(m.value ORDER BY enum_code(m.name)) FILTER (t.place = 0), 0) AS seconds,
           [max(m.value) FILTER (t.place = 1), max(m.value) FILTER (t.place = 2), max(m.value) FILTER (t.place = 3)] AS others
    FROM c_metric AS m LEFT JOIN timer AS t USING (side, run, name)
    WHERE m.name = 'timing_s/step' OR m.name IN (SELECT name FROM timer) GROUP BY ALL
), tried AS (
    SELECT 0 AS place, side, run, step, others, seconds, TRUE AS inside FROM room
    UNION ALL
    SELECT place + 1, side, run, step, others, seconds - CASE WHEN fits THEN coalesce(others[place + 1], 0) ELSE 0 END, coalesce(fits, FALSE)
    FROM (SELECT *, bool_and(seconds >= others[place + 1]) FILTER (others[place + 1] IS NOT NULL) OVER (PARTITION BY side, run) AS fits FROM tried)
    WHERE place < (SELECT max(place) FROM later)
), known AS (
    SELECT DISTINCT side, run, place FROM tried WHERE inside
)
SELECT t.side, t.run, t.name, t.role, CASE WHEN t.name = 'timing_s/gen' AND b.run IS NOT NULL THEN 'wait_for_samples' ELSE t.phase END AS phase
FROM timer AS t JOIN known USING (side, run, place) LEFT JOIN beside AS b USING (side, run);
