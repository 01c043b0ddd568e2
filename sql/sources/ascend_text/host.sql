-- Events on the host: framework operators, nn.Module spans, CANN calls, garbage collections.
-- Variables: capture.
-- Depends on argument_text, profile_text, text_layer, trace_event, trace_process.
INSERT INTO stage_host_op
SELECT getvariable('capture'), row_number() OVER (), tid, profile_text(name), start_ns, end_ns, CASE WHEN sequence_number >= 0 THEN sequence_number END,
       argument_text(input_shapes), argument_text(input_dtypes)
FROM trace_event
WHERE ph = 'X' AND cat = 'cpu_op' AND start_ns IS NOT NULL AND NOT starts_with(name, 'ProfilerStep#')
  AND name NOT IN ('mstx_mark_op', 'mstx_range_start_op', 'mstx_range_end_op');
INSERT INTO module
SELECT getvariable('capture'), tid, profile_text(substr(name, 12)), start_ns, end_ns FROM trace_event
WHERE ph = 'X' AND cat = 'python_function' AND start_ns IS NOT NULL;
INSERT INTO gc SELECT getvariable('capture'), tid, start_ns, end_ns FROM trace_event WHERE ph = 'X' AND cat = 'GC' AND start_ns IS NOT NULL;
-- "Node@launch" is the call "launch" of the layer "node"; the arguments also contain the layer.
INSERT INTO host_api
SELECT getvariable('capture'), e.tid, text_layer(e.args ->> 'level'), profile_text(regexp_replace(e.name, '^[A-Za-z]+@', '')), e.start_ns, e.end_ns,
       nullif(TRY_CAST(e.args ->> 'connection_id' AS BIGINT), 4294967295)
FROM trace_event AS e JOIN trace_process AS p USING (pid)
WHERE e.ph = 'X' AND e.cat IS NULL AND p.name = 'CANN' AND e.start_ns IS NOT NULL;
