-- Kernels: the rows of kernel_details.csv with a valid duration, with data of the same task in the trace. Without that file: the tasks of
-- the trace.
-- `cube` follows msprof-analyze for text. It is unknown without a PMU time of the vector unit or of the (unprefixed) cube unit. Otherwise
-- it is true if the time of the cube unit or of the whole core is above 0. In the trace, a compute task has a known type, or another type
-- and a flow from the host (before 2025 all are "Other"). It must not be a copy, an event or part of a collective.
-- Variables: capture, text_device.
-- Depends on lost_kernel, profile_text, stage_kernel, stage_step, text_kernel, trace_comm, trace_link, trace_task.
INSERT INTO stage_kernel
WITH matched AS (
    SELECT k.id, t.pid, t.tid, t.start_ns, t.device_id, t.stream
    FROM text_kernel AS k JOIN trace_task AS t USING (start_ns) WHERE NOT k.is_comm
    QUALIFY row_number() OVER (PARTITION BY k.id ORDER BY t.name = k.name DESC, t.device_id = k.device_id DESC NULLS LAST, t.stream = k.stream DESC NULLS LAST) = 1
)
SELECT getvariable('capture'), k.id, coalesce(k.device_id, getvariable('text_device'), m.device_id), coalesce(k.stream, m.stream), profile_text(k.name), profile_text(k.op_type),
       profile_text(k.core_type), NULL, k.start_ns, k.end_ns, k.wait_ns,
       profile_text(k.input_shapes), profile_text(k.input_dtypes), profile_text(k.input_formats),
       profile_text(k.output_shapes), profile_text(k.output_dtypes), profile_text(k.output_formats), k.block_num, k.step,
       l.launch_ns, l.host_op_id, l.host_op_ns,
       CASE WHEN k.mac_us IS NOT NULL OR k.vec_us IS NOT NULL THEN coalesce(k.mac_us > 0, FALSE) OR coalesce(k.aicore_us > 0, FALSE) END
FROM text_kernel AS k
LEFT JOIN matched AS m USING (id)
LEFT JOIN trace_link AS l ON l.pid = m.pid AND l.tid = m.tid AND l.start_ns = m.start_ns
WHERE NOT k.is_comm AND k.damaged_length IS NULL AND (k.end_ns IS NOT NULL OR NOT EXISTS (FROM lost_kernel));
-- What only the trace has is placed in a step as in a profile without that file, and so are all others, if the trace marks steps.
INSERT INTO stage_kernel BY NAME
WITH typed AS (
    SELECT name, any_value(op_type) AS op_type FROM text_kernel WHERE NOT is_comm AND name IS NOT NULL GROUP BY name HAVING count(DISTINCT op_type) = 1
), highest AS (
    SELECT coalesce(max(id), 0) AS id FROM text_kernel
)
SELECT h.id + row_number() OVER (ORDER BY t.start_ns) AS id, coalesce(getvariable('text_device'), t.device_id) AS device_id, t.stream, profile_text(t.name) AS name,
       profile_text(y.op_type) AS op_type, profile_text(t.task_type) AS core_type, t.start_ns, t.end_ns, k.step AS reported_step, l.launch_ns, l.host_op_id, l.host_op_ns
FROM lost_kernel AS t CROSS JOIN highest AS h LEFT JOIN typed AS y USING (name)
LEFT JOIN trace_link AS l ON l.pid = t.pid AND l.tid = t.tid AND l.start_ns = t.start_ns
ASOF LEFT JOIN (FROM text_kernel WHERE start_ns IS NOT NULL) AS k ON t.start_ns >= k.start_ns;
UPDATE stage_kernel SET reported_step = NULL
WHERE capture = getvariable('capture') AND EXISTS (FROM lost_kernel)
  AND EXISTS (FROM stage_step WHERE capture = getvariable('capture') AND start_ns IS NOT NULL);
INSERT INTO stage_kernel BY NAME
SELECT row_number() OVER (ORDER BY t.start_ns) AS id, coalesce(getvariable('text_device'), t.device_id) AS device_id, t.stream, profile_text(t.name) AS name,
       CASE WHEN t.task_type <> 'Other' THEN profile_text(t.task_type) END AS core_type, t.start_ns, t.end_ns,
       l.launch_ns, l.host_op_id, l.host_op_ns
FROM trace_task AS t
LEFT JOIN trace_link AS l ON l.pid = t.pid AND l.tid = t.tid AND l.start_ns = t.start_ns
ANTI JOIN (SELECT stream, start_ns FROM trace_comm WHERE NOT whole) AS part ON part.stream = t.stream AND part.start_ns = t.start_ns
WHERE NOT EXISTS (FROM text_kernel WHERE NOT is_comm)
  AND (t.task_type IN ('AI_CORE', 'AI_VECTOR_CORE', 'AI_CPU', 'MIX_AIC', 'MIX_AIV', 'FFTS_PLUS', 'DSA_SQE', 'KERNEL_AICORE', 'KERNEL_AIVEC', 'KERNEL_AICPU',
                       'KERNEL_MIX_AIC', 'KERNEL_MIX_AIV', 'KERNEL_SIMT')
       OR (coalesce(l.has_flow, FALSE)
           AND NOT regexp_matches(upper(t.task_type || ' ' || t.name), 'EVENT_|MEMCPY|DMA_SQE|PLACE_HOLDER|NOTIFY|WRITE VALUE|PROFILING_')));
