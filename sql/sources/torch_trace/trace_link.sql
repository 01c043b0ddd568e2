-- Makes trace_link: for each task on a device, its launch and the framework operator that launched it, by time nesting on the launching
-- thread. If the trace has no launch, the operator is found by External id. In traces of 2022 and 2023, External id repeats the correlation
-- and names no operator; such ids are ignored.
-- Variables: capture.
-- Depends on stage_host_op, trace_event, trace_inside, trace_task.
CREATE OR REPLACE TEMP TABLE trace_link AS
WITH lost AS (
    SELECT id, external_id FROM trace_task WHERE launch_ns IS NULL AND external_id > 0 AND external_id IS DISTINCT FROM correlation
), external AS (
    SELECT external_id, min(id) AS host_op_id FROM trace_event SEMI JOIN lost USING (external_id) WHERE cat = 'cpu_op' AND sound GROUP BY external_id
), found AS (
    SELECT t.id, i.host_op_id FROM trace_task AS t JOIN trace_inside AS i ON i.thread = t.thread AND i.ns = t.launch_ns
    UNION ALL SELECT id, host_op_id FROM lost JOIN external USING (external_id)
), named AS (
    SELECT f.id, f.host_op_id, o.start_ns AS host_op_ns, o.input_shapes, o.input_dtypes FROM found AS f JOIN stage_host_op AS o ON o.capture = getvariable('capture') AND o.id = f.host_op_id
)
SELECT t.id, t.launch_ns, n.host_op_id, n.host_op_ns, n.input_shapes, n.input_dtypes FROM trace_task AS t LEFT JOIN named AS n USING (id);
