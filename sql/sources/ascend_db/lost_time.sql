-- Makes lost_time: how many rows of COMPUTE_TASK_INFO have no usable time in TASK, or no device although others have one; if they are a
-- considerable part (1 of 200).
-- Depends on compute, task.
-- Nothing without compute.
CREATE OR REPLACE TEMP TABLE lost_time AS
SELECT capture, kernels - CASE WHEN placed > 0 THEN placed ELSE coalesce(timed, 0) END AS lost, kernels
FROM (SELECT capture, count(*) AS kernels FROM (SELECT DISTINCT capture, task_id FROM compute) GROUP BY capture)
LEFT JOIN (SELECT capture, count(*) AS timed, count(device_id) AS placed FROM task SEMI JOIN compute USING (capture, task_id) GROUP BY capture) USING (capture)
WHERE lost * 200 > kernels;
