-- The steps that a log marks.
-- Variables: capture.
-- Depends on kernel_log.
INSERT INTO stage_step BY NAME
SELECT getvariable('capture') AS capture, step, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM kernel_log WHERE end_ns IS NOT NULL GROUP BY step;
