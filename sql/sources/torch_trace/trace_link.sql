-- Makes trace_link: for each task on a device its launch and the framework operator that launched it, by time nesting on the launching thread.
-- Without a launch in the trace the operator is found by External id, unless that is the correlation once more, as in 2022 and 2023, when it
-- named no operator. Depends on trace_task, trace_inside, trace_event, stage_host_op.
CREATE OR REPLACE TEMP TABLE trace_link AS
WITH external AS (
    SELECT external_id, min(id) AS id FROM trace_event WHERE cat = 'cpu_op' AND sound AND external_id > 0 GROUP BY external_id
), found AS (
    SELECT t.id, t.launch_ns, CASE WHEN t.launch_ns IS NOT NULL THEN i.host_op_id ELSE e.id END AS host_op_id
    FROM trace_task AS t
    LEFT JOIN trace_inside AS i ON i.thread = t.thread AND i.ns = t.launch_ns
    LEFT JOIN external AS e ON e.external_id = t.external_id AND t.external_id IS DISTINCT FROM t.correlation
)
SELECT f.id, f.launch_ns, o.id AS host_op_id, o.start_ns AS host_op_ns, o.input_shapes, o.input_dtypes
FROM found AS f LEFT JOIN stage_host_op AS o ON o.id = f.host_op_id;
