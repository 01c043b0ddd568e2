-- Garbage collections.
-- Depends on src_GC_RECORD.
-- Nothing without src_GC_RECORD.
INSERT INTO gc SELECT capture, thread, start_ns, end_ns FROM src_GC_RECORD WHERE start_ns IS NOT NULL;
