-- Kernels whose cube unit worked: a PMU time that is not zero. Depends on src_TASK_PMU_INFO, text_by_id.
CREATE OR REPLACE TEMP TABLE cube AS
SELECT DISTINCT task_id FROM src_TASK_PMU_INFO
WHERE value <> 0 AND name IN (SELECT id FROM text_by_id WHERE value IN ('aic_total_time', 'aic_mac_time'));
SET VARIABLE has_pmu = EXISTS (SELECT 1 FROM src_TASK_PMU_INFO);
