-- The captures that link kernels to the framework operators that launched them.
-- Depends on stage_kernel.
-- Nothing without stage_kernel.
-- Runs after too_long.
CREATE OR REPLACE TEMP TABLE launching AS SELECT DISTINCT capture FROM stage_kernel WHERE host_op_id IS NOT NULL;
