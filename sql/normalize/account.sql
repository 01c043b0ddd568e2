-- Raises an error if the times of a capture do not add up. On every device and in every step, computation, exposed communication and free
-- time must sum to the span from the first task to the last, to the nanosecond (docs/design.md). A difference means a bug in rlcompare, or
-- an input that it does not understand. No number of such a capture may be shown.
-- Depends on collective, host_compute, kernel.
-- Nothing without collective + host_compute + kernel.
SELECT error(printf('its times do not add up: %.3f ms of computation, communication and free time in a span of %.3f ms', ns / 1e6, span_ns / 1e6))
FROM (
    SELECT sum(ns + gap_ns) AS ns, max(end_ns) - min(start_ns) AS span_ns
    FROM (
        SELECT capture, device_id, step, busy_ns AS ns, gap_ns, start_ns, end_ns FROM kernel
        UNION ALL SELECT capture, NULL, step, busy_ns, gap_ns, start_ns, end_ns FROM host_compute
        UNION ALL SELECT capture, device_id, step, coalesce(exposed_ns, busy_ns), gap_ns, start_ns, end_ns FROM collective
    )
    WHERE step IS NOT NULL AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY capture, device_id, step
) WHERE ns IS DISTINCT FROM span_ns;
