-- Own time of each task: the part that no earlier task of its kind covers (busy_ns), the start of that part (own_start_ns), and the gap of
-- the device right before the task (gap_ns, over kernels and collectives together). Overlapping time counts for the task that starts first.
-- Therefore the own times of all tasks of a step sum to the length of their union, and gaps, kernels and exposed collectives sum to the
-- device span.
-- Depends on placed.
-- Nothing without placed.
-- Runs after chosen_step, host_op (which frees memory).
CREATE OR REPLACE TEMP TABLE coverage AS
WITH own AS (
    SELECT *, max(end_ns) OVER (PARTITION BY what, capture, device_id, step ORDER BY start_ns, end_ns, id
                                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM placed WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
), gap AS (
    SELECT capture, what, id, start_ns - max(end_ns) OVER (PARTITION BY capture, device_id, step ORDER BY start_ns, end_ns, what, id
                                                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_ns
    FROM placed WHERE what <> 'copy' AND start_ns IS NOT NULL AND end_ns IS NOT NULL
)
SELECT own.capture, own.what, own.id, own.device_id, own.step, own.phase,
       greatest(own.start_ns, coalesce(own.covered_ns, own.start_ns)) AS own_start_ns, own.end_ns AS own_end_ns,
       greatest(own.end_ns - greatest(own.start_ns, coalesce(own.covered_ns, own.start_ns)), 0) AS busy_ns,
       greatest(coalesce(gap.gap_ns, 0), 0) AS gap_ns
FROM own LEFT JOIN gap ON gap.capture = own.capture AND gap.what = own.what AND gap.id = own.id;
