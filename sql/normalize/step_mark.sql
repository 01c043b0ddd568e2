-- One mark for each step of a capture. Marks of one step that overlap or touch are one. Of those that are apart, one is chosen, because what
-- lies between them is not the step: one that overlaps no mark of another step, else the longest. A process does one step at a time: if marks
-- of two steps still overlap, by more than rounding may cause (1 µs), the longer one is wrong, or both if they are equally long.
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
), touching AS (
    SELECT *, coalesce(max(end_ns) OVER (PARTITION BY capture ORDER BY start_ns, end_ns, step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) > start_ns + 1000, FALSE)
           OR coalesce(lead(start_ns) OVER (PARTITION BY capture ORDER BY start_ns, end_ns, step) < end_ns - 1000, FALSE) AS touches
    FROM mark
), ranked AS (
    SELECT *, count(*) OVER (PARTITION BY capture, step) AS marks, row_number() OVER (PARTITION BY capture, step ORDER BY touches, ns DESC, start_ns) AS place
    FROM touching
), chosen AS (
    SELECT capture, step, start_ns, end_ns, marks, ns, greatest(ns - 1001, 0) AS inside_ns FROM ranked WHERE place = 1
)
SELECT capture, step, start_ns, end_ns, marks,
       ns > 1000 AND (coalesce(min(ns) FILTER (ns > 1000) OVER (PARTITION BY capture ORDER BY start_ns RANGE BETWEEN CURRENT ROW AND inside_ns FOLLOWING EXCLUDE CURRENT ROW) <= ns, FALSE)
       OR coalesce(min(ns) FILTER (ns > 1000) OVER (PARTITION BY capture ORDER BY end_ns RANGE BETWEEN inside_ns PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) <= ns, FALSE)) AS is_wrong
FROM chosen;
