-- A trace without device tasks, and without calls of a runtime or driver, is a trace of the host alone.
-- Variables: capture.
-- Depends on capture, trace_event.
UPDATE capture SET executor = 'host'
WHERE capture = getvariable('capture')
  AND NOT EXISTS (FROM trace_event WHERE cat IN ('kernel', 'gpu_memcpy', 'gpu_memset') OR cat LIKE '%\_runtime' ESCAPE '\' OR cat LIKE '%\_driver' ESCAPE '\');
