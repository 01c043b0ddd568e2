-- Makes trace_task: the tasks on a device's streams ("Ascend Hardware"), and trace_comm: communication operators and, on the planes' threads,
-- their tasks. An operator's thread is named "Group 0 Communication"; the threads after it, up to the next such one, are its planes.
-- Spans with a negative duration are left out.
-- Depends on profile_text, trace_event, trace_process, trace_thread.
CREATE OR REPLACE TEMP TABLE trace_task AS
SELECT e.pid, e.tid, p.device_id, e.name, e.start_ns, e.end_ns, a."Task Type" AS task_type, coalesce(a."Physic Stream Id", a."Stream Id", e.tid) AS stream,
       a."Stream Id" AS logical_stream, a."Task Id" AS task_id, nullif(a.connection_id, 4294967295) AS connection_id, a."size(B)" AS size_bytes, a.operation
FROM (SELECT *, json_transform(args, '{"Task Type": "VARCHAR", "Physic Stream Id": "BIGINT", "Stream Id": "BIGINT", "Task Id": "BIGINT",
                                       "connection_id": "BIGINT", "size(B)": "BIGINT", "operation": "VARCHAR"}') AS a
      FROM trace_event WHERE ph = 'X' AND cat IS NULL AND start_ns IS NOT NULL AND damaged_length IS NULL AND pid IN (SELECT pid FROM trace_process WHERE name = 'Ascend Hardware')) AS e
JOIN trace_process AS p USING (pid)
WHERE a."Task Type" IS NOT NULL;
CREATE OR REPLACE TEMP TABLE trace_comm AS
SELECT e.pid, e.tid, p.device_id, g.tid AS group_tid, profile_text(g.name) AS group_name, e.tid = g.tid AS whole,
       TRY_CAST(regexp_extract(t.name, '^Plane ([0-9]+)', 1) AS BIGINT) AS plane, profile_text(e.name) AS name, e.start_ns, e.end_ns,
       profile_text(a.data_type) AS dtype, profile_text(a.alg_type) AS algorithm, a.count AS element_count, nullif(a.connection_id, 4294967295) AS connection_id,
       a."stream id" AS stream, a."size(Byte)" AS size_bytes, nullif(a."src rank", 4294967295) AS src_rank, nullif(a."dst rank", 4294967295) AS dst_rank,
       profile_text(a."transport type") AS transport, profile_text(a."link type") AS link_type
FROM (SELECT *, json_transform(args, '{"data_type": "VARCHAR", "alg_type": "VARCHAR", "count": "BIGINT", "connection_id": "BIGINT", "stream id": "BIGINT",
                                       "size(Byte)": "BIGINT", "src rank": "BIGINT", "dst rank": "BIGINT", "transport type": "VARCHAR", "link type": "VARCHAR"}') AS a
      FROM trace_event WHERE ph = 'X' AND start_ns IS NOT NULL AND damaged_length IS NULL AND pid IN (SELECT pid FROM trace_process WHERE name = 'Communication')) AS e
JOIN trace_process AS p USING (pid)
LEFT JOIN trace_thread AS t ON t.pid = e.pid AND t.tid = e.tid
ASOF LEFT JOIN (FROM trace_thread WHERE name LIKE '%Communication') AS g ON g.pid = e.pid AND e.tid >= g.tid;
