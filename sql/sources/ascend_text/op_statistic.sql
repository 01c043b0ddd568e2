-- Sums by operator type and core.
-- Variables: capture, text_op_statistic.
-- Depends on profile_text, text_count, text_device, text_length_ns, text_table.
-- Run by name: for its file.
INSERT INTO reported_kernel_type
SELECT getvariable('capture'), text_device("Device_id"), profile_text("OP Type"), profile_text("Core Type"), text_count("Count"),
       text_length_ns("Total Time(us)"), text_length_ns("Min Time(us)"), text_length_ns("Max Time(us)")
FROM (
    SELECT NULL::VARCHAR AS "Device_id", NULL::VARCHAR AS "OP Type", NULL::VARCHAR AS "Core Type", NULL::VARCHAR AS "Count", NULL::VARCHAR AS "Total Time(us)",
           NULL::VARCHAR AS "Min Time(us)", NULL::VARCHAR AS "Max Time(us)" WHERE FALSE
    UNION ALL BY NAME
    FROM text_table(getvariable('text_op_statistic'))
);
