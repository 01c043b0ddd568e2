-- One boolean: did the source find anything at all in this capture?
-- Variables: capture.
-- Depends on host_api, memory, range, reported_api, reported_kernel_type, reported_operator, stage_collective,
-- stage_host_op, stage_kernel.
SELECT EXISTS (FROM stage_kernel) OR EXISTS (FROM stage_collective) OR EXISTS (FROM stage_host_op)
    OR EXISTS (FROM "range" WHERE capture = getvariable('capture'))
    OR EXISTS (FROM host_api WHERE capture = getvariable('capture'))
    OR EXISTS (FROM memory WHERE capture = getvariable('capture'))
    OR EXISTS (FROM reported_kernel_type WHERE capture = getvariable('capture'))
    OR EXISTS (FROM reported_operator WHERE capture = getvariable('capture'))
    OR EXISTS (FROM reported_api WHERE capture = getvariable('capture'));
