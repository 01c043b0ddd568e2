-- Nesting depth of each framework operator on its thread: the number of operators opened up to it, minus the number closed before it
-- started. Made only if events are kept: only parents and self times need it, and no section of a diff shows those.
-- Variables: keep_events.
-- Depends on stage_host_op.
-- Runs after place.
CREATE OR REPLACE TEMP TABLE host_op_depth AS
WITH opened AS (
    SELECT capture, id, thread, start_ns, end_ns,
           row_number() OVER (PARTITION BY capture, thread ORDER BY start_ns, end_ns DESC, id) AS opened
    FROM stage_host_op WHERE getvariable('keep_events')
), closed AS (
    SELECT capture, thread, end_ns AS closed_ns, sum(count(*)) OVER (PARTITION BY capture, thread ORDER BY end_ns) AS closed
    FROM stage_host_op WHERE getvariable('keep_events') GROUP BY capture, thread, end_ns
)
SELECT o.capture, o.id, o.thread, o.start_ns, o.end_ns, o.opened - coalesce(c.closed, 0) AS depth
FROM opened AS o ASOF LEFT JOIN closed AS c ON c.capture = o.capture AND c.thread = o.thread AND o.start_ns >= c.closed_ns;
