-- One mark for each step of a capture. Marks of one step that overlap or touch are one. Of those that are apart, one is chosen, because what
-- lies between them is not the step: one that overlaps no other step, else the longest. A process does one step at a time: if the marks of
-- two steps still overlap by more than a tenth, the longer one is wrong, or both if they are equally long.
-- Depends on stage_step.
-- Nothing without stage_step.
CREATE OR REPLACE TEMP TABLE step_mark AS
WITH begun AS (
    SELECT *, coalesce(start_ns > max(end_ns) OVER (PARTITION BY capture, step ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), TRUE) AS is_first
    FROM stage_step WHERE end_ns > start_ns
), numbered AS (
    SELECT *, count_if(is_first) OVER (PARTITION BY capture, step ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING) AS place FROM begun
), mark AS (
    SELECT capture, step, min(start_ns) AS start_ns, max(end_ns) AS end_ns, max(end_ns) - min(start_ns) AS ns FROM numbered GROUP BY capture, step, place
), beside AS (
    SELECT *, lag(end_ns) OVER by_time - start_ns AS before_overlap_ns, lag(ns) OVER by_time AS before_ns,
           end_ns - lead(start_ns) OVER by_time AS after_overlap_ns, lead(ns) OVER by_time AS after_ns
    FROM mark WINDOW by_time AS (PARTITION BY capture ORDER BY start_ns, end_ns, step)
), touched AS (
    SELECT *, coalesce(before_overlap_ns * 10 > least(ns, before_ns), FALSE) OR coalesce(after_overlap_ns * 10 > least(ns, after_ns), FALSE) AS touches FROM beside
), ranked AS (
    SELECT capture, step, start_ns, end_ns, ns, count(*) OVER (PARTITION BY capture, step) AS marks,
           row_number() OVER (PARTITION BY capture, step ORDER BY touches, ns DESC, start_ns) AS place
    FROM touched
), chosen AS (
    SELECT capture, step, start_ns, end_ns, ns, marks, lag(end_ns) OVER by_time - start_ns AS before_overlap_ns, lag(ns) OVER by_time AS before_ns,
           end_ns - lead(start_ns) OVER by_time AS after_overlap_ns, lead(ns) OVER by_time AS after_ns
    FROM ranked WHERE place = 1 WINDOW by_time AS (PARTITION BY capture ORDER BY start_ns, end_ns, step)
)
SELECT capture, step, start_ns, end_ns, marks,
       coalesce(before_ns <= ns AND before_overlap_ns * 10 > before_ns, FALSE) OR coalesce(after_ns <= ns AND after_overlap_ns * 10 > after_ns, FALSE) AS is_wrong
FROM chosen;
