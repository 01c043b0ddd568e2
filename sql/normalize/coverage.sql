-- Own time of each task: the part that no earlier task of its kind covers (busy_ns), the start of that part (own_start_ns), and the gap of
-- the device right before the task (gap_ns, over kernels and collectives together). Overlapping time counts for the task that starts first.
-- Therefore the own times of all tasks of a step sum to the length of their union, and gaps, kernels and exposed collectives sum to the
-- device span. One window finds the latest end of each kind before each task: sorting takes most of the time.
-- Depends on placed.
-- Nothing without placed.
-- Runs after chosen_step, host_op (which frees memory).
CREATE OR REPLACE TEMP TABLE coverage AS
WITH before AS (
    SELECT *, max(end_ns) FILTER (what = 'kernel') OVER earlier AS kernels_ns, max(end_ns) FILTER (what = 'collective') OVER earlier AS collectives_ns,
           max(end_ns) FILTER (what = 'copy') OVER earlier AS copies_ns
    FROM placed WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    WINDOW earlier AS (PARTITION BY capture, device_id, step ORDER BY start_ns, end_ns, what, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), own AS (   -- greatest() ignores NULL
    SELECT *, greatest(start_ns, CASE what WHEN 'kernel' THEN kernels_ns WHEN 'collective' THEN collectives_ns ELSE copies_ns END) AS own_start_ns,
           CASE WHEN what <> 'copy' THEN start_ns - greatest(kernels_ns, collectives_ns) END AS gap_ns
    FROM before
)
SELECT capture, what, id, device_id, step, phase, own_start_ns, end_ns AS own_end_ns, greatest(end_ns - own_start_ns, 0) AS busy_ns,
       greatest(coalesce(gap_ns, 0), 0) AS gap_ns
FROM own;
