-- Problems found in each database: (capture, severity, key, message). The query uses tables that were read already, because a second scan
-- of the largest tables costs as much as the first.
-- Variables: has_damaged_task.
-- Depends on communication_op, compute, db_capture, is_span, lost_collective, lost_kernel, lost_text, lost_time,
-- repeated_row, src_COMMUNICATION_OP, src_MSTX_EVENTS, src_STEP_TIME, src_TASK, task, text_by_id, unsound_framework.
-- Nothing without communication_op + db_capture + lost_kernel + lost_text + lost_time + repeated_row +
-- src_COMMUNICATION_OP + src_MSTX_EVENTS + src_STEP_TIME + src_TASK + text_by_id + unsound_framework.
WITH said(capture, ord, severity, key, message) AS (
SELECT capture, 1, 'warning', CASE WHEN NOT is_much THEN 'unknown_string' WHEN what = 'kernels' THEN 'lost_names' ELSE 'lost_collectives' END,
       lost || ' of ' || rows || ' ' || what || ' refer to a string that is missing in STRING_IDS: their name, type or '
       || CASE what WHEN 'kernels' THEN 'inputs are' ELSE 'group is' END || ' unknown' || CASE WHEN is_much THEN ', so no causes are named' ELSE '' END
FROM lost_text
UNION ALL
SELECT capture, 2, 'warning', 'unknown_string', count(*) || ' mstx ranges refer to a string that is missing in STRING_IDS: phases may be missing'
FROM src_MSTX_EVENTS AS e
WHERE message IS NOT NULL AND NOT EXISTS (FROM text_by_id AS t WHERE t.capture = e.capture AND t.id = e.message) GROUP BY capture
UNION ALL
SELECT capture, 3, 'warning', 'shortened_text', count(*) || ' texts of more than 10,000 characters were cut' FROM text_by_id WHERE shortened GROUP BY capture
UNION ALL
SELECT capture, 3, 'info', 'short_names', 'names of more than 128 characters were cut (' || count(*) || '), as all of them together are very long'
FROM text_by_id WHERE is_short GROUP BY capture
UNION ALL
SELECT capture, 4, 'warning', 'damaged_time', unusable || ' device tasks have no usable time and were left out'
FROM (
    SELECT l.capture, l.tasks - coalesce(u.tasks, 0) - coalesce(r.repeated, 0) AS unusable
    FROM (SELECT capture, count(*) AS tasks FROM src_TASK WHERE getvariable('has_damaged_task') GROUP BY capture) AS l
    LEFT JOIN (SELECT capture, count(*) AS tasks FROM task GROUP BY capture) AS u ON u.capture = l.capture
    LEFT JOIN repeated_row AS r ON r.capture = l.capture
) WHERE unusable > 0
UNION ALL
SELECT capture, 5, 'warning', 'repeated_rows', repeated || ' rows of TASK repeat the id of another row and were left out' FROM repeated_row WHERE repeated > 0
UNION ALL
SELECT capture, 6, 'warning', 'damaged_time', unsound || ' rows of the framework have no usable time and were left out' FROM unsound_framework
UNION ALL
SELECT capture, 7, 'warning', 'damaged_time', 'time.step is not measured in ' || string_agg('step ' || step || coalesce(printf(' (%.3f ms by its marks)', (end_ns::DOUBLE - start_ns) / 1e6), ''), ', ' ORDER BY step)
       || ': a step cannot end before it begins or take more than a day'
FROM (SELECT capture, step, any_value(start_ns) AS start_ns, any_value(end_ns) AS end_ns FROM src_STEP_TIME
      WHERE step IS NOT NULL AND NOT is_span(start_ns, end_ns) GROUP BY capture, step
      QUALIFY row_number() OVER (PARTITION BY capture ORDER BY step) <= 5)
GROUP BY capture
UNION ALL
SELECT o.capture, 8, 'warning', 'damaged_time', count(*) || ' collectives have no usable time and were left out'
FROM src_COMMUNICATION_OP AS o ANTI JOIN lost_collective AS l ON l.capture = o.capture AND l.op_id = o.op_id
WHERE o.op_id IS NOT NULL AND NOT is_span(o.start_ns, o.end_ns) GROUP BY o.capture
UNION ALL
SELECT capture, 9, 'warning', 'lost_names', count(*) || ' of ' || any_value(described) + count(*) || ' kernels are in TASK, but not in COMPUTE_TASK_INFO'
       || ': their times count, their names are unknown, so no causes are named'
FROM lost_kernel GROUP BY capture
UNION ALL
SELECT capture, 10, 'warning', 'lost_kernels', lost || ' of ' || kernels || ' kernels in COMPUTE_TASK_INFO have no usable time in TASK, or no device, and were left out'
       || ': the times of the step are too short, so no causes are named'
FROM lost_time
UNION ALL
SELECT capture, 11, 'warning', 'lost_collectives', count(*) FILTER (is_lost) || ' of ' || count(*) || ' collectives have tasks, but no usable row in COMMUNICATION_OP'
       || ': their times count, their names are unknown, so no causes are named'
FROM communication_op GROUP BY capture HAVING count(*) FILTER (is_lost) > 0
UNION ALL
SELECT capture, 12, 'info', 'no_kernels', 'no kernels were recorded (profiler level Level_none?): compute is absent'
FROM db_capture WHERE capture NOT IN (SELECT capture FROM compute UNION SELECT capture FROM lost_kernel)
)
SELECT capture, severity, key, message FROM said ORDER BY capture, ord;
