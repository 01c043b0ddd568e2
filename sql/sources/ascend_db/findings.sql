-- What was odd in this database: (severity, key, message). Depends on the views, text_by_id.
SELECT 'warning', 'unknown_string', count(*) || ' kernels name a text that STRING_IDS does not have; they are shown without a name'
FROM src_COMPUTE_TASK_INFO AS k ANTI JOIN text_by_id AS t ON t.id = k.name WHERE k.name IS NOT NULL HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'shortened_text', count(*) || ' texts of more than 10,000 characters were cut' FROM text_by_id WHERE shortened HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'damaged_time', count(*) || ' device tasks have no usable time and were left out'
FROM src_TASK WHERE NOT is_span(start_ns, end_ns) HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'damaged_time', count(*) || ' rows of the framework have no usable time and were left out'
FROM src_PYTORCH_API WHERE NOT is_span(start_ns, end_ns) HAVING count(*) > 0
UNION ALL
SELECT 'info', 'no_kernels', 'no kernels were recorded (profiler level Level_none?): compute is absent'
WHERE NOT EXISTS (FROM src_COMPUTE_TASK_INFO);
