-- AI Core counters of kernel_details.csv, named as in a database: aicore_time(us) and aiv_time(us) are aic_total_time and aiv_total_time.
-- Times are in nanoseconds, percentages become ratios, other units stay in the name. Only if events are kept. The rows have the ids of
-- text_kernel, because both read the file in its order.
-- Variables: capture, keep_events, text_kernel_details.
-- Depends on text_kernel, text_number, text_table.
-- Run by name: after all others, once the kernels are known.
INSERT INTO pmu
SELECT getvariable('capture'), id,
       CASE name WHEN 'aicore_time(us)' THEN 'aic_total_time' WHEN 'aiv_time(us)' THEN 'aiv_total_time'
                 ELSE regexp_replace(regexp_replace(name, '\(us\)$', ''), '\(%\)$', '') END,
       text_number(value) * CASE WHEN ends_with(name, '(us)') THEN 1000.0 WHEN ends_with(name, '(%)') THEN 0.01 ELSE 1.0 END
FROM (
    UNPIVOT (
        SELECT row_number() OVER () AS id, COLUMNS(lambda c: c NOT IN (
            'Step Id', 'Step ID', 'Device_id', 'Model ID', 'Task ID', 'Stream ID', 'Name', 'Type', 'OP State', 'Accelerator Core', 'Start Time(us)',
            'Duration(us)', 'Wait Time(us)', 'Block Dim', 'Mix Block Dim', 'Block Num', 'Mix Block Num', 'HF32 Eligible', 'Input Shapes',
            'Input Data Types', 'Input Formats', 'Output Shapes', 'Output Data Types', 'Output Formats', 'Context ID'))
        FROM (
            SELECT NULL::VARCHAR AS no_counter WHERE FALSE
            UNION ALL BY NAME
            FROM text_table(getvariable('text_kernel_details'))
        )
    ) ON COLUMNS(* EXCLUDE (id)) INTO NAME name VALUE value
) SEMI JOIN (FROM text_kernel WHERE NOT is_comm) USING (id)
WHERE getvariable('keep_events') AND text_number(value) IS NOT NULL;
