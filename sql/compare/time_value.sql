-- Every time of c_time per member: in each step (c_step_time), and its mean over steps, in ns. A step or member without a measurement is skipped; it does not count 0.
-- step_free: the part of the host's step in which the device neither computes nor communicates (preparing + free + tail).
-- Copies count only if all members of a side know them: free time is exposed copies and idle time, and a mean of others would not sum.
-- Depends on c_capture, c_time, c_uneven.
-- Nothing without c_capture, c_time.
CREATE TABLE c_step_time AS
WITH times AS (
    SELECT *, step_ns - compute_ns - exposed_comm_ns AS step_free_ns FROM c_time
), measured AS (
    UNPIVOT times ON compute_ns, comm_ns, exposed_comm_ns, overlapped_comm_ns, device_span_ns, free_ns, exposed_copy_ns, idle_ns,
                     bubble_ns, stage_ns, p2p_ns, step_ns, step_free_ns, preparing_ns, tail_ns
    INTO NAME metric VALUE ns
)   -- captures of one member and step are summed
SELECT c.side, c.run, c.role, c.folder, c.member, replace(m.metric, '_ns', '') AS metric, m.step, sum(m.ns) AS ns
FROM measured AS m JOIN c_capture AS c USING (side, run, capture)
WHERE m.metric NOT IN ('exposed_copy_ns', 'idle_ns') OR m.side NOT IN (SELECT side FROM c_uneven WHERE what = 'time_copies')
GROUP BY ALL;
CREATE TABLE c_time_value AS
SELECT side, run, role, folder, member, metric, sum(ns) / count(*) AS ns FROM c_step_time GROUP BY ALL;
