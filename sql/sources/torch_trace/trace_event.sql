-- Makes trace_event: the events of a trace that are used, in one pass over the file. Left out are flows (launches are found by
-- correlation), the Python trace except modules, and events about the profiler itself. Times are in microseconds; since 2024 they are
-- relative to baseTimeNanoseconds.
-- Variables: trace_base_ns, trace_event_bytes, trace_events.
-- Depends on is_span, profile_text, text_length_ns, text_time_ns, trace_category, trace_has_out, trace_shapes,
-- trace_types, trace_without_out.
-- Run by name: before all others; again with more memory where an event is very long.
CREATE OR REPLACE TEMP TABLE trace_event AS
WITH raw AS (
    SELECT ph, trace_category(cat) AS cat, name, pid, TRY_CAST(tid AS BIGINT) AS thread, ts, dur, args
    FROM read_json(getvariable('trace_events'), format = 'array', hive_partitioning = FALSE, maximum_object_size = getvariable('trace_event_bytes'), columns = {
        ph: 'VARCHAR', cat: 'VARCHAR', name: 'VARCHAR', pid: 'VARCHAR', tid: 'VARCHAR', ts: 'VARCHAR', dur: 'VARCHAR', args: 'JSON'})
    WHERE CASE WHEN ph = 'X' THEN cat IS NOT NULL AND (lower(cat) NOT IN ('python_function', 'trace', 'overhead', 'cuda_sync') OR starts_with(name, 'nn.Module: '))
               ELSE ph = 'i' AND name = '[memory]' END
), timed AS (
    SELECT *, args ->> 'Input Dims' AS dims, args ->> 'Input type' AS types, TRY(text_time_ns(ts) + getvariable('trace_base_ns')) AS start_ns,
           coalesce(text_length_ns(dur), CASE WHEN dur IS NULL THEN 0 END) AS length_ns
    FROM raw
), argued AS (
    SELECT * EXCLUDE (dims, types), trace_shapes(dims) AS shapes, trace_types(types) AS types, trace_has_out(name, shapes) AS has_out FROM timed
)
SELECT row_number() OVER () AS id, ph, cat, name, CASE WHEN cat = 'cpu_op' THEN pid END AS process, thread, start_ns, TRY(start_ns + length_ns) AS end_ns,
       coalesce(is_span(start_ns, TRY(start_ns + length_ns)), FALSE) AS sound,
       CASE WHEN cat = 'cpu_op' THEN TRY_CAST(args ->> 'Sequence number' AS BIGINT) END AS sequence_number,
       profile_text(CASE WHEN has_out THEN trace_without_out(shapes) ELSE shapes END) AS input_shapes,
       profile_text(CASE WHEN has_out THEN trace_without_out(types) ELSE types END) AS input_dtypes,
       CASE WHEN cat = 'cpu_op' THEN TRY_CAST(args ->> 'External id' AS BIGINT) END AS external_id,
       CASE WHEN cat <> 'cpu_op' AND cat <> 'user_annotation' OR cat IS NULL OR name = 'record_param_comms' THEN args END AS args
FROM argued;
