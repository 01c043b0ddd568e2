-- The profiler's session where the profile does not state it (text): from the first to the last thing recorded.
-- Variables: capture.
-- Depends on capture, stage_collective, stage_copy, stage_host_op, stage_kernel, stage_phase.
-- Runs after once.
UPDATE capture SET host_start_ns = least(host_start_ns, seen.start_ns), host_end_ns = seen.end_ns
FROM (
    SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM (
        SELECT start_ns, end_ns FROM stage_kernel UNION ALL SELECT start_ns, end_ns FROM stage_collective
        UNION ALL SELECT start_ns, end_ns FROM stage_copy UNION ALL SELECT start_ns, end_ns FROM stage_host_op
        UNION ALL SELECT start_ns, end_ns FROM stage_phase
    )
) AS seen
WHERE capture = getvariable('capture') AND host_end_ns IS NULL;
