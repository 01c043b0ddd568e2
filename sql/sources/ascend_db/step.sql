-- Host ranges of the profiler steps. In a sample of a known training step the marks are ticks, not steps, and are left out. A step without
-- a valid range (its end is before its start) is kept without times.
-- Variables: is_sample.
-- Depends on is_span, src_STEP_TIME.
INSERT INTO step
SELECT capture, step, min(start_ns) FILTER (is_span(start_ns, end_ns)), max(end_ns) FILTER (is_span(start_ns, end_ns)), FALSE FROM src_STEP_TIME
WHERE step IS NOT NULL AND NOT coalesce(getvariable('is_sample'), FALSE) GROUP BY capture, step;
