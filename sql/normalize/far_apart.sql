-- The captures whose times are too far apart to be of one profile, on the device or on the host. Their clocks may differ.
-- Depends on longest_profile_ns, stage_collective, stage_copy, stage_host_op, stage_kernel, stage_phase, stage_step.
-- Run by name: once all sources were read.
SELECT DISTINCT capture FROM (
    SELECT capture, TRUE AS is_host, start_ns FROM stage_host_op UNION ALL SELECT capture, TRUE, start_ns FROM stage_phase
    UNION ALL SELECT capture, TRUE, start_ns FROM stage_step
    UNION ALL SELECT capture, FALSE, start_ns FROM stage_kernel UNION ALL SELECT capture, FALSE, start_ns FROM stage_collective
    UNION ALL SELECT capture, FALSE, start_ns FROM stage_copy
) GROUP BY capture, is_host HAVING max(start_ns) - min(start_ns) > longest_profile_ns() ORDER BY capture;
