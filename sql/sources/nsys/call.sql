-- Calls on the host.
-- Variables: capture, nsys_epoch_ns.
-- Depends on is_span, nsys_call, nsys_here, nsys_text, src_CUPTI_ACTIVITY_KIND_RUNTIME.
-- Nothing without src_CUPTI_ACTIVITY_KIND_RUNTIME.
INSERT INTO host_api
SELECT getvariable('capture'), c.thread, 'runtime', nsys_call(n.value), c.start_ns, c.end_ns, nullif(c.correlation, 0)
FROM src_CUPTI_ACTIVITY_KIND_RUNTIME AS c LEFT JOIN nsys_text AS n ON n.id = c.name
WHERE nsys_here(c.pid) AND is_span(c.start_ns, c.end_ns);
