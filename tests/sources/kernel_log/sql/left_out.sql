-- One number: the rows without a time.
-- Depends on kernel_log.
SELECT count(*) FROM kernel_log WHERE end_ns IS NULL;
