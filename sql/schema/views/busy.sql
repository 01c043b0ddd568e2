-- Everything that keeps a device busy, one row per task, for questions that cut across tables.
-- Depends on collective, copy, host_compute, kernel.
CREATE VIEW busy AS
SELECT capture, device_id, step, phase, 'kernel' AS what, start_ns, end_ns FROM kernel
UNION ALL SELECT capture, device_id, step, phase, 'collective', start_ns, end_ns FROM collective
UNION ALL SELECT capture, device_id, step, phase, 'copy', start_ns, end_ns FROM copy
UNION ALL SELECT capture, NULL, step, phase, 'host_op', start_ns, end_ns FROM host_compute;
