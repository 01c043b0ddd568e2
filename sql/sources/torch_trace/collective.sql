-- Collectives. On a device they are the kernels of NCCL and RCCL (send and receive included). Their kind and size come from their own
-- arguments (since 2024), else from those of the record_param_comms operator around their launch, else from the name and arguments of the
-- annotation nccl:… around it. The last resort is the kernel's own name, which does not distinguish an all-to-all from other sends and
-- receives. A trace without a device has the ranges gloo:… instead.
-- Members of the group: as listed, else from trace_group, else from the first rank and the stride. A group of more than 1,024 goes by its name: the list
-- would stand beside each of its collectives.
-- Variables: capture.
-- Depends on capture, profile_text, trace_bytes, trace_collective, trace_dtype, trace_elements, trace_event,
-- trace_group, trace_link, trace_ranks, trace_task.
INSERT INTO stage_collective BY NAME
WITH around AS (   -- operators and annotations around the launches of communication
    SELECT id, thread, start_ns, end_ns, cat, name, input_shapes, input_dtypes, args FROM trace_event
    WHERE sound AND ((cat = 'cpu_op' AND name = 'record_param_comms') OR (cat IN ('user_annotation', 'cpu_op') AND starts_with(name, 'nccl:')))
), told AS (
    SELECT t.id, arg_max(a.args, a.start_ns) FILTER (a.name = 'record_param_comms') AS args, arg_max(a.name, a.start_ns) FILTER (a.name <> 'record_param_comms') AS mark,
           arg_max(a.input_shapes, a.start_ns) FILTER (a.name <> 'record_param_comms') AS shapes, arg_max(a.input_dtypes, a.start_ns) FILTER (a.name <> 'record_param_comms') AS dtypes
    FROM trace_task AS t JOIN around AS a ON a.thread = t.thread AND t.launch_ns BETWEEN a.start_ns AND a.end_ns
    WHERE t.is_comm GROUP BY t.id
), device AS (
    SELECT t.id, t.device_id, t.name, t.start_ns, t.end_ns, l.launch_ns, l.host_op_ns,
           CASE WHEN coalesce(t.args ->> 'Collective name', t.args ->> 'Process Group Name') IS NOT NULL THEN t.args ELSE o.args END AS a, o.mark, o.shapes, o.dtypes
    FROM trace_task AS t JOIN trace_link AS l USING (id) LEFT JOIN told AS o ON o.id = t.id
    WHERE t.is_comm
), host AS (
    SELECT e.id, CAST(NULL AS INTEGER) AS device_id, e.name, e.start_ns, e.end_ns, e.start_ns AS launch_ns, CAST(NULL AS BIGINT) AS host_op_ns,
           CAST(NULL AS JSON) AS a, e.name AS mark, e.input_shapes AS shapes, e.input_dtypes AS dtypes
    FROM trace_event AS e JOIN capture AS c ON c.capture = getvariable('capture') AND c.executor = 'host'
    WHERE e.sound AND e.cat IN ('user_annotation', 'cpu_op') AND starts_with(e.name, 'gloo:')
), named AS (
    SELECT *, coalesce(a ->> 'Process Group Name', (SELECT min(name) FROM trace_group HAVING count(*) = 1)) AS group_name,
           TRY_CAST(a ->> 'Group size' AS BIGINT) AS members, TRY_CAST(a ->> 'Global rank start' AS BIGINT) AS first_rank,
           TRY_CAST(a ->> 'Global rank stride' AS BIGINT) AS stride, TRY_CAST(a ->> 'In msg nelems' AS DOUBLE) AS elements,
           trace_dtype(coalesce(a ->> 'dtype', string_split(dtypes, ';')[1])) AS dtype
    FROM (FROM device UNION ALL FROM host)
)
SELECT n.id, n.device_id, profile_text(n.name) AS name, coalesce(trace_collective(n.a ->> 'Collective name'), trace_collective(n.mark), trace_collective(n.name)) AS op_type,
       profile_text(n.group_name) AS group_name,
       coalesce(trace_ranks(n.a ->> 'Process Group Ranks'), g.ranks,
                CASE WHEN n.members BETWEEN 1 AND 1024 AND n.first_rank >= 0 AND n.stride > 0
                     THEN array_to_string(list_transform(range(n.members), lambda i: n.first_rank + i * n.stride), ',') END) AS group_ranks,
       n.start_ns, n.end_ns, trace_bytes(coalesce(n.elements, trace_elements(n.shapes)), n.dtype) AS size_bytes, n.dtype, n.launch_ns, n.host_op_ns
FROM named AS n LEFT JOIN trace_group AS g ON g.name = n.group_name;
