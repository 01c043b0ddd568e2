-- The operator that directly contains each operator: the latest one of its thread one level up; for an operator without a length, the
-- innermost one at its time. Made only if events are kept, because only host_op.parent_id needs it.
-- Variables: keep_events.
-- Depends on host_op_edge, stage_host_op.
-- Nothing without stage_host_op.
CREATE OR REPLACE TEMP TABLE host_op_parent AS
WITH edge AS MATERIALIZED (
    FROM host_op_edge WHERE getvariable('keep_events')
), opened AS (
    SELECT capture, thread, id, depth, place FROM edge WHERE id IS NOT NULL
), instant AS (
    SELECT o.capture, o.thread, o.id, e.depth + 1 AS depth, e.place + 1 AS place
    FROM stage_host_op AS o
    ASOF JOIN (FROM edge WHERE until_ns > from_ns) AS e ON e.capture = o.capture AND e.thread = o.thread AND o.start_ns >= e.from_ns
    WHERE o.end_ns <= o.start_ns AND o.start_ns < e.until_ns
)
SELECT o.capture, o.id, p.id AS parent_id
FROM (FROM opened UNION ALL FROM instant) AS o
ASOF JOIN (SELECT capture, thread, id, depth + 1 AS inner_depth, place FROM opened) AS p
  ON p.capture = o.capture AND p.thread = o.thread AND p.inner_depth = o.depth AND o.place > p.place;
