-- Whether this capture links kernels to the framework operators that launched them.
-- Depends on stage_kernel.
-- Runs after once.
SET VARIABLE has_launches = EXISTS (FROM stage_kernel WHERE host_op_id IS NOT NULL);
