-- Everything that keeps a device busy, one row per task, for questions that cut across tables.
-- Depends on collective, copy, host_compute, kernel.
CREATE VIEW busy AS
SELECT
    capture,           -- capture.capture
    device_id,         -- device; NULL: the host, or unknown
    step,              -- step.step; NULL: outside all steps
    phase,             -- phase.id; NULL: outside all phases
    'kernel' AS what,  -- kernel | collective | copy | host_op (a row of host_compute)
    start_ns,          -- start, in ns since the epoch
    end_ns             -- end, in ns since the epoch
FROM kernel
UNION ALL SELECT capture, device_id, step, phase, 'collective', start_ns, end_ns FROM collective
UNION ALL SELECT capture, device_id, step, phase, 'copy', start_ns, end_ns FROM copy
UNION ALL SELECT capture, NULL, step, phase, 'host_op', start_ns, end_ns FROM host_compute;
