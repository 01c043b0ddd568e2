-- Step times that analysis.db reports, for cross-checking.
-- Depends on src_StepTraceTime.
-- Nothing without src_StepTraceTime.
-- Run by name: on analysis.db, after all others.
INSERT INTO reported_step_time
SELECT capture, device_id, step, compute_ns, exposed_comm_ns, overlapped_comm_ns, comm_ns, free_ns, stage_ns, bubble_ns, preparing_ns
FROM src_StepTraceTime;
