-- The profiler session if the profile does not state it (text): from the start of the first recorded event to the end of the last.
-- Depends on capture, stage_collective, stage_copy, stage_host_op, stage_kernel, stage_phase.
-- Runs after lone_task, too_long.
UPDATE capture SET host_start_ns = least(capture.host_start_ns, seen.start_ns), host_end_ns = seen.end_ns
FROM (
    SELECT capture, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM (
        SELECT capture, start_ns, end_ns FROM stage_kernel UNION ALL SELECT capture, start_ns, end_ns FROM stage_collective
        UNION ALL SELECT capture, start_ns, end_ns FROM stage_copy UNION ALL SELECT capture, start_ns, end_ns FROM stage_host_op
        UNION ALL SELECT capture, start_ns, end_ns FROM stage_phase
    ) GROUP BY capture
) AS seen
WHERE capture.capture = seen.capture AND capture.host_end_ns IS NULL;
