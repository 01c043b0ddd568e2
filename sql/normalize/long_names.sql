-- The captures whose long names of kernels and host operators take very much memory, and the number of these names. By hashes, because a table
-- of such names takes long to group.
-- Variables: most_long_text.
-- Depends on stage_host_op, stage_kernel.
-- Run by name: once all sources were read.
SELECT capture, CAST(count(*) AS BIGINT) FROM (
    SELECT capture, hash(name) AS number, any_value(strlen(name)) AS size FROM (
        SELECT capture, name FROM stage_kernel WHERE strlen(name) > 128
        UNION ALL SELECT capture, op_type FROM stage_kernel WHERE strlen(op_type) > 128
        UNION ALL SELECT capture, name FROM stage_host_op WHERE strlen(name) > 128
    ) GROUP BY ALL
) GROUP BY capture HAVING sum(size) > getvariable('most_long_text') ORDER BY capture;
