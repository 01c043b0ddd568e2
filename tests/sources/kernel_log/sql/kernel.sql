-- The kernels of a log that have a time.
-- Depends on kernel_log.
INSERT INTO stage_kernel BY NAME
SELECT id, device AS device_id, 0 AS stream, kernel AS name, kind AS op_type, start_ns, end_ns, step AS reported_step
FROM kernel_log WHERE end_ns IS NOT NULL;
