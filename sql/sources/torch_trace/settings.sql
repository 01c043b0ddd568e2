-- Settings of the profiler that are off: those that the header does not name (variable trace_unset), unless an event has what they record,
-- as after torch.autograd.profiler, which names none.
-- Variables: capture, trace_unset.
-- Depends on trace_event.
INSERT INTO env
SELECT getvariable('capture'), 'profiler.' || setting, 'false' FROM (SELECT unnest(getvariable('trace_unset')) AS setting)
WHERE NOT EXISTS (FROM trace_event WHERE CASE setting WHEN 'record_shapes' THEN input_shapes IS NOT NULL WHEN 'profile_memory' THEN ph = 'i'
                                                   WHEN 'with_stack' THEN cat = 'python_function' ELSE FALSE END);
