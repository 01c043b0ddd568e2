-- What analysis.db reports: step times for cross-checking, and transfers by pair of ranks.
-- Depends on src_StepTraceTime, src_CommAnalyzerMatrix.
INSERT INTO reported_step_time
SELECT getvariable('capture'), device_id, step, compute_ns, exposed_comm_ns, overlapped_comm_ns, comm_ns, free_ns, stage_ns, bubble_ns, preparing_ns
FROM src_StepTraceTime;
INSERT INTO link
SELECT getvariable('capture'), step, collective_kind(NULL, split_part(name, '-', 1)), group_name, src_rank, dst_rank, transport, size_bytes, transit_ns
FROM src_CommAnalyzerMatrix WHERE name LIKE '%-total';
