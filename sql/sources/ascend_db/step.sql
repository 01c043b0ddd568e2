-- Marks of the profiler steps. In a sample of a known training step the marks are ticks, not steps, and are left out. A mark without a valid
-- range (its end is before its start) is kept without times.
-- Variables: is_sample.
-- Depends on is_span, src_STEP_TIME.
-- Nothing without src_STEP_TIME.
INSERT INTO stage_step
SELECT capture, step, CASE WHEN is_span(start_ns, end_ns) THEN start_ns END, CASE WHEN is_span(start_ns, end_ns) THEN end_ns END FROM src_STEP_TIME
WHERE step IS NOT NULL AND NOT coalesce(getvariable('is_sample'), FALSE);
