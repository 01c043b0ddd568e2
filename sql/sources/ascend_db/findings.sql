-- What was odd in this database: (severity, key, message). From what was read already, because a second scan of the largest tables costs as
-- much as the first.
-- Variables: repeated_rows, unsound_framework.
-- Depends on compute, is_span, src_COMMUNICATION_OP, src_MSTX_EVENTS, src_STEP_TIME, src_TASK, task, text_by_id.
SELECT 'warning', 'unknown_string',
       count(*) || ' kernels refer to a string that is missing in STRING_IDS: their name, type or shapes are unknown'
FROM compute
WHERE (name >= 0 AND name NOT IN (SELECT id FROM text_by_id)) OR (op_type >= 0 AND op_type NOT IN (SELECT id FROM text_by_id))
   OR (input_shapes >= 0 AND input_shapes NOT IN (SELECT id FROM text_by_id))
HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'unknown_string', count(*) || ' mstx ranges refer to a string that is missing in STRING_IDS: phases may be missing'
FROM src_MSTX_EVENTS WHERE message IS NOT NULL AND message NOT IN (SELECT id FROM text_by_id) HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'shortened_text', count(*) || ' texts of more than 10,000 characters were cut' FROM text_by_id WHERE shortened HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'damaged_time', unusable || ' device tasks have no usable time and were left out'
FROM (SELECT (SELECT count(*) FROM src_TASK) - (SELECT count(*) FROM task) - getvariable('repeated_rows') AS unusable) WHERE unusable > 0
UNION ALL
SELECT 'warning', 'repeated_rows', getvariable('repeated_rows') || ' rows of TASK repeat the id of another row and were left out' WHERE getvariable('repeated_rows') > 0
UNION ALL
SELECT 'warning', 'damaged_time', getvariable('unsound_framework') || ' rows of the framework have no usable time and were left out'
WHERE getvariable('unsound_framework') > 0
UNION ALL
SELECT 'warning', 'damaged_time', 'time.step is not measured in ' || string_agg('step ' || step || coalesce(printf(' (%.3f ms by its marks)', (end_ns::DOUBLE - start_ns) / 1e6), ''), ', ' ORDER BY step)
       || ': a step cannot end before it begins or take more than a day'
FROM (SELECT step, any_value(start_ns) AS start_ns, any_value(end_ns) AS end_ns FROM src_STEP_TIME
      WHERE step IS NOT NULL AND NOT is_span(start_ns, end_ns) GROUP BY step ORDER BY step LIMIT 5)
HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'damaged_time', count(*) || ' collectives have no usable time and were left out'
FROM src_COMMUNICATION_OP WHERE op_id IS NOT NULL AND NOT is_span(start_ns, end_ns) HAVING count(*) > 0
UNION ALL
SELECT 'info', 'no_kernels', 'no kernels were recorded (profiler level Level_none?): compute is absent'
WHERE NOT EXISTS (FROM compute);
