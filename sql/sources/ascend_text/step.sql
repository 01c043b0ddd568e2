-- Steps: the host ranges that the trace marks, and those of kernels. A mark without a valid duration gives a step without times. A step that only
-- communication.json or the sums of steps name counts if there are no others: nothing that was recorded belongs to it, and times are divided by
-- the number of steps. In a sample of a known training step the marks are ticks, not steps, and are left out.
-- Variables: capture, is_sample.
-- Depends on reported_step_time, stage_step, text_communication, text_kernel, trace_event.
INSERT INTO stage_step
SELECT getvariable('capture'), TRY_CAST(substr(name, 14) AS BIGINT) AS number, CASE WHEN damaged_length IS NULL THEN start_ns END, CASE WHEN damaged_length IS NULL THEN end_ns END
FROM trace_event
WHERE ph = 'X' AND cat = 'cpu_op' AND starts_with(name, 'ProfilerStep#') AND start_ns IS NOT NULL AND TRY_CAST(substr(name, 14) AS BIGINT) IS NOT NULL
      AND NOT coalesce(getvariable('is_sample'), FALSE);
INSERT INTO stage_step
SELECT DISTINCT getvariable('capture'), step, NULL, NULL
FROM text_kernel
WHERE step IS NOT NULL AND step NOT IN (SELECT step FROM stage_step WHERE capture = getvariable('capture'))
      AND NOT coalesce(getvariable('is_sample'), FALSE);
INSERT INTO stage_step
SELECT DISTINCT getvariable('capture'), step, NULL, NULL
FROM text_communication
WHERE step IS NOT NULL AND NOT EXISTS (FROM stage_step WHERE capture = getvariable('capture')) AND NOT coalesce(getvariable('is_sample'), FALSE);
INSERT INTO stage_step
SELECT DISTINCT getvariable('capture'), step, NULL, NULL
FROM reported_step_time
WHERE capture = getvariable('capture') AND step IS NOT NULL AND NOT EXISTS (FROM stage_step WHERE capture = getvariable('capture'))
      AND NOT coalesce(getvariable('is_sample'), FALSE);
