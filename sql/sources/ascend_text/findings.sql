-- Problems found in these files: (severity, key, message).
-- Variables: capture.
-- Depends on allocation, lost_collective, lost_count, lost_kernel, memory, profile_text, stage_kernel, text_collective,
-- text_kernel, trace_event.
SELECT 'warning', 'damaged_time', 'kernel_details.csv: ' || count(*) || ' of its ' || (SELECT count(*) FROM text_kernel)
       || ' rows have an invalid start time (as when a spreadsheet saves 1.69512E+15); '
       || CASE WHEN EXISTS (FROM lost_kernel) THEN 'trace_view.json tells their times' ELSE 'their times are lost' END || '; use the file as the profiler wrote it'
FROM text_kernel WHERE damaged HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'damaged_time', 'trace_view.json: ' || count(*) || ' events have an invalid time and were left out; use the file as the profiler wrote it'
FROM trace_event WHERE ph IN ('X', 's', 'f', 'C') AND start_ns IS NULL HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'damaged_time', 'kernel_details.csv: ' || count(*) || ' kernels have an invalid duration (' || arg_min(coalesce(name, 'one'), id)
       || coalesce(' in step ' || arg_min(step, id), '') || ': ' || arg_min(damaged_length, id) || ' us) and were left out; use the file as the profiler wrote it'
FROM text_kernel WHERE damaged_length IS NOT NULL AND NOT is_comm HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'damaged_time', 'trace_view.json: ' || count(*) || ' events have an invalid duration (' || arg_min(coalesce(profile_text(name), 'one'), start_ns)
       || ': ' || arg_min(damaged_length, start_ns) || ' us): device events were left out, step times are not measured, host events count as 0; use the file as the profiler wrote it'
FROM trace_event WHERE ph = 'X' AND damaged_length IS NOT NULL HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'damaged_time', 'memory_record.csv, npu_module_mem.csv: ' || count(*) || ' rows have an invalid time; their sizes are kept; use the files as the profiler wrote them'
FROM memory WHERE capture = getvariable('capture') AND ts_ns IS NULL HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'damaged_time', 'operator_memory.csv: ' || count(*) || ' allocations have an invalid time; their sizes are kept; use the file as the profiler wrote it'
FROM allocation WHERE capture = getvariable('capture') AND alloc_ns IS NULL HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'shortened_text', count(*) || ' names of more than 10,000 characters in trace_view.json were cut'
FROM trace_event WHERE strlen(name) > 10000 AND length(name) > 10000 HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'shortened_text', count(*) || ' kernels in kernel_details.csv have a name or type of more than 10,000 characters, which was cut'
FROM text_kernel WHERE (strlen(name) > 10000 AND length(name) > 10000) OR (strlen(op_type) > 10000 AND length(op_type) > 10000) HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'lost_names', 'kernel_details.csv: ' || lost || ' of ' || (rows - untimed + lost) || ' kernels of trace_view.json have no usable row'
       || ': their times count, their inputs are unknown, so no causes are named'
FROM lost_count WHERE lost > 0
UNION ALL
SELECT 'warning', 'lost_names', 'kernel_details.csv: ' || bare || ' of ' || rows || ' kernels have neither a name nor a type, so no causes are named'
FROM (SELECT count(*) FILTER (coalesce(profile_text(name), profile_text(op_type)) IS NULL) AS bare, count(*) AS rows FROM text_kernel WHERE NOT is_comm) WHERE bare * 200 > rows
UNION ALL
SELECT 'warning', 'lost_kernels', 'kernel_details.csv: it has ' || rows || ' kernels, op_statistic.csv counts ' || reported
       || ': the others do not count, so the times of the step are too short and no causes are named'
FROM lost_count WHERE lost = 0 AND rows > 0 AND (reported - rows) * 200 > reported
UNION ALL
SELECT 'warning', 'lost_kernels', 'kernel_details.csv: ' || untimed || ' of ' || rows
       || ' kernels have no usable time and do not count, so the times of the step are too short and no causes are named'
FROM lost_count WHERE lost = 0 AND untimed * 200 > rows
UNION ALL
SELECT 'warning', 'lost_collectives', 'kernel_details.csv: ' || count(*) || ' of ' || (SELECT count(*) FROM text_collective)
       || ' collectives have no usable row, but are in trace_view.json or communication.json: their times count, but no causes are named'
FROM lost_collective HAVING count(*) > 0
UNION ALL
SELECT 'info', 'no_kernels', 'no kernels were recorded (profiler level Level_none, or neither kernel_details.csv nor trace_view.json has any): compute is absent'
WHERE NOT EXISTS (FROM stage_kernel WHERE capture = getvariable('capture'));
