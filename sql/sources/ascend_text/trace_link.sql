-- Makes trace_link: for each device event (pid, tid, start_ns), the framework operator that launched it, and the launch. The operator is
-- found by the start of the async_npu flow: it starts at that time on that thread (if several do, the shortest), or it is the latest one
-- before, if still running. The launch is the node-level call of the same connection in which the HostToDevice flow starts. The flow is
-- used because the clocks of host and device may differ by microseconds. Without CANN calls (Level0), the start of the flow is the launch.
-- Newer traces print framework times as floats, with a resolution of a quarter of a microsecond. A flow that ends at no event exactly is
-- matched with the event whose time is the same float.
-- Variables: capture.
-- Depends on host_api, stage_host_op, trace_comm, trace_event, trace_task.
CREATE OR REPLACE TEMP TABLE trace_link AS
WITH device_event AS (
    SELECT pid, tid, start_ns, max(connection_id) AS connection_id, (start_ns // 1000)::DOUBLE + (start_ns % 1000) / 1000.0 AS as_float
    FROM (SELECT pid, tid, start_ns, connection_id FROM trace_task UNION ALL SELECT pid, tid, start_ns, connection_id FROM trace_comm WHERE whole)
    GROUP BY pid, tid, start_ns
), origin AS (
    SELECT cat, id, arg_min(tid, start_ns) AS thread, min(start_ns) AS ns FROM trace_event
    WHERE ph = 's' AND start_ns IS NOT NULL GROUP BY cat, id
), flow AS (
    SELECT f.cat, f.pid, f.tid, f.start_ns, o.thread, o.ns, e.start_ns IS NOT NULL AS exact
    FROM (FROM trace_event WHERE ph = 'f' AND start_ns IS NOT NULL) AS f
    JOIN origin AS o USING (cat, id)
    LEFT JOIN device_event AS e ON e.pid = f.pid AND e.tid = f.tid AND e.start_ns = f.start_ns
), placed_flow AS (
    SELECT cat, pid, tid, start_ns, thread, ns FROM flow WHERE exact
    UNION ALL
    SELECT f.cat, f.pid, f.tid, e.start_ns, f.thread, f.ns
    FROM (FROM flow WHERE NOT exact) AS f
    JOIN device_event AS e ON e.pid = f.pid AND e.tid = f.tid AND e.as_float = (f.start_ns // 1000)::DOUBLE + (f.start_ns % 1000) / 1000.0
), started AS (
    SELECT pid, tid, start_ns, arg_min(thread, ns) FILTER (cat = 'async_npu') AS thread, min(ns) FILTER (cat = 'async_npu') AS host_op_ns,
           min(ns) FILTER (cat = 'HostToDevice') AS flow_ns
    FROM placed_flow GROUP BY pid, tid, start_ns
), operator AS (
    SELECT thread, start_ns, arg_min(id, end_ns) AS id, min(end_ns) AS end_ns FROM stage_host_op WHERE capture = getvariable('capture') GROUP BY thread, start_ns
), node AS (
    SELECT connection_id, start_ns FROM host_api
    WHERE capture = getvariable('capture') AND layer = 'node' AND connection_id IS NOT NULL
), launched AS (
    SELECT e.pid, e.tid, e.start_ns, e.connection_id, s.thread, s.host_op_ns, s.flow_ns, s.start_ns IS NOT NULL AS has_flow,
           coalesce(s.flow_ns, e.start_ns) AS inside_ns
    FROM device_event AS e LEFT JOIN started AS s USING (pid, tid, start_ns)
), noded AS (
    SELECT l.*, n.start_ns AS node_ns FROM launched AS l ASOF LEFT JOIN node AS n ON n.connection_id = l.connection_id AND l.inside_ns >= n.start_ns
)
SELECT l.pid, l.tid, l.start_ns, CASE WHEN o.end_ns >= l.host_op_ns THEN o.id END AS host_op_id, l.host_op_ns,
       coalesce(l.node_ns, l.flow_ns) AS launch_ns, l.has_flow
FROM noded AS l ASOF LEFT JOIN operator AS o ON o.thread = l.thread AND l.host_op_ns >= o.start_ns;
