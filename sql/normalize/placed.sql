-- Every device task with its step and phase.
-- Step: the only step, if there are no step marks; else the step that the profile reports; else the step of the launch; else the first step
-- whose device range contains the start. In a torch trace, a task without a launch has no step: the warm-up may have launched it.
-- Phase: by the start of the framework operator, else of the launch, else of the task (docs/design.md §4).
-- Depends on capture, device_task, phase, same_key, step, step_range.
-- Nothing without device_task.
CREATE OR REPLACE TEMP TABLE placed AS
WITH only_step AS (
    SELECT capture, step FROM step WHERE inferred
), reported AS (
    SELECT capture, what FROM device_task WHERE reported_step IS NOT NULL GROUP BY capture, what
), ranged AS (
    SELECT t.*, CASE WHEN r.range_start_ns <= t.start_ns THEN r.step END AS range_step
    FROM device_task AS t ASOF LEFT JOIN step_range AS r
      ON r.capture = t.capture AND same_key(r.device_id, t.device_id) AND t.start_ns < r.range_end_ns
), stepped AS (
    SELECT t.*, CASE
        WHEN o.step IS NOT NULL THEN o.step
        WHEN reported.what IS NOT NULL THEN t.reported_step
        WHEN coalesce(t.launch_ns, t.host_op_ns) IS NOT NULL THEN t.launch_step
        WHEN c.tool IS DISTINCT FROM 'torch' THEN t.range_step
    END AS step,
    coalesce(t.host_op_ns, t.launch_ns, t.start_ns) AS cause_ns
    FROM ranged AS t LEFT JOIN only_step AS o ON o.capture = t.capture
    LEFT JOIN reported ON reported.capture = t.capture AND reported.what = t.what
    LEFT JOIN capture AS c ON c.capture = t.capture
), folder AS (
    SELECT capture, id FROM phase WHERE inferred
), marked_phase AS (
    SELECT capture, id AS phase, start_ns AS phase_start_ns, end_ns AS phase_end_ns FROM phase WHERE NOT inferred
)
SELECT s.capture, s.what, s.id, s.device_id, s.start_ns, s.end_ns, s.step,
       coalesce(folder.id, CASE WHEN s.cause_ns < p.phase_end_ns THEN p.phase END) AS phase
FROM stepped AS s ASOF LEFT JOIN marked_phase AS p ON p.capture = s.capture AND s.cause_ns >= p.phase_start_ns
LEFT JOIN folder ON folder.capture = s.capture;
