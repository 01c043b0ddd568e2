-- Tasks of kernels that COMPUTE_TASK_INFO lacks. Only types that nothing but kernels have count: FFTS_PLUS, AI_CORE and KERNEL_AICPU are also those
-- of collectives.
-- Depends on compute, task.
-- Nothing without task.
CREATE OR REPLACE TEMP TABLE bare_task AS
SELECT t.* FROM task AS t ANTI JOIN compute AS k ON k.capture = t.capture AND k.task_id = t.task_id
WHERE t.task_id IS NOT NULL AND t.task_type IN ('KERNEL_AICORE', 'KERNEL_AIVEC', 'KERNEL_MIX_AIC', 'KERNEL_MIX_AIV', 'MIX_AIC', 'MIX_AIV');
