-- The operator that directly contains each operator: the latest one of its thread one level up.
-- Depends on host_op_depth.
CREATE OR REPLACE TEMP TABLE host_op_parent AS
SELECT o.capture, o.id, o.end_ns - o.start_ns AS length_ns, p.id AS parent_id
FROM host_op_depth AS o
ASOF JOIN (SELECT capture, id, thread, depth + 1 AS child_depth, start_ns FROM host_op_depth) AS p
  ON p.capture = o.capture AND p.thread = o.thread AND p.child_depth = o.depth AND o.start_ns >= p.start_ns;
