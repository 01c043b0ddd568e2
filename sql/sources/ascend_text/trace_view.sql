-- Makes trace_event: the events of trace_view.json that are used, in one pass over the file. Left out are the Python trace except modules,
-- the task queue, flows between forward and backward, and counters except the frequency. If events are kept, the counters of HBM and the
-- last-level cache are read too. Arguments are kept as JSON text. For framework operators only three arguments are kept, because their call
-- stacks are most of the file.
-- Variables: keep_events, text_trace_view.
-- Depends on text_length_ns, text_time_ns.
-- Run by name: for its file.
CREATE OR REPLACE TEMP TABLE trace_event AS
SELECT ph, cat, name, TRY_CAST(pid AS BIGINT) AS pid, TRY_CAST(tid AS BIGINT) AS tid,
       text_time_ns(ts) AS start_ns, text_time_ns(ts) + coalesce(text_length_ns(dur), 0) AS end_ns, id,
       CASE WHEN text_length_ns(dur) IS NULL THEN dur END AS damaged_length,
       CASE WHEN cat = 'cpu_op' THEN TRY_CAST(args ->> 'Sequence number' AS BIGINT) END AS sequence_number,
       CASE WHEN cat = 'cpu_op' THEN args ->> 'Input Dims' END AS input_shapes,
       CASE WHEN cat = 'cpu_op' THEN args ->> 'Input type' END AS input_dtypes,
       CASE WHEN cat IS NULL OR cat <> 'cpu_op' THEN args END AS args
FROM read_json(getvariable('text_trace_view'), format = 'array', hive_partitioning = FALSE, maximum_object_size = 16777216, columns = {
    ph: 'VARCHAR', cat: 'VARCHAR', name: 'VARCHAR', pid: 'VARCHAR', tid: 'VARCHAR', ts: 'VARCHAR', dur: 'VARCHAR', id: 'VARCHAR', args: 'JSON'})
WHERE CASE ph
    WHEN 'X' THEN cat IS NULL OR (cat NOT IN ('enqueue', 'dequeue') AND (cat <> 'python_function' OR starts_with(name, 'nn.Module: ')))
    WHEN 's' THEN cat IN ('async_npu', 'HostToDevice')
    WHEN 'f' THEN cat IN ('async_npu', 'HostToDevice', 'MsTx')
    WHEN 'C' THEN starts_with(name, 'AI Core Freq')
                  OR (coalesce(getvariable('keep_events'), FALSE) AND (starts_with(name, 'HBM ') OR starts_with(name, 'LLC ')))
    WHEN 'M' THEN name IN ('process_name', 'process_labels', 'thread_name')
    ELSE FALSE
END;
