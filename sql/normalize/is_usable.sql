-- The captures in which the source found nothing at all.
-- Depends on capture, host_api, memory, range, reported_api, reported_kernel_type, reported_operator, stage_collective,
-- stage_host_op, stage_kernel.
-- Nothing without capture.
SELECT capture FROM capture WHERE capture NOT IN (
    SELECT DISTINCT capture FROM (   -- DISTINCT: a join with a million rows takes longer
        SELECT capture FROM stage_kernel UNION ALL SELECT capture FROM stage_collective UNION ALL SELECT capture FROM stage_host_op
        UNION ALL SELECT capture FROM "range" UNION ALL SELECT capture FROM host_api UNION ALL SELECT capture FROM memory
        UNION ALL SELECT capture FROM reported_kernel_type UNION ALL SELECT capture FROM reported_operator
        UNION ALL SELECT capture FROM reported_api
    )
);
