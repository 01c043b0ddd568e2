-- Step times reported by the profiler, in microseconds: 9 columns in 2023; later versions added Preparing, then Device_id.
-- Variables: capture, text_step_trace_time.
-- Depends on text_device, text_length_ns, text_step, text_table.
-- Run by name: for its file.
INSERT INTO reported_step_time
SELECT getvariable('capture'), text_device("Device_id"), text_step("Step"), text_length_ns("Computing"), text_length_ns("Communication(Not Overlapped)"),
       text_length_ns("Overlapped"), text_length_ns("Communication"), text_length_ns("Free"), text_length_ns("Stage"), text_length_ns("Bubble"),
       text_length_ns("Preparing")
FROM (
    SELECT NULL::VARCHAR AS "Device_id", NULL::VARCHAR AS "Step", NULL::VARCHAR AS "Computing", NULL::VARCHAR AS "Communication(Not Overlapped)",
           NULL::VARCHAR AS "Overlapped", NULL::VARCHAR AS "Communication", NULL::VARCHAR AS "Free", NULL::VARCHAR AS "Stage", NULL::VARCHAR AS "Bubble",
           NULL::VARCHAR AS "Preparing" WHERE FALSE
    UNION ALL BY NAME
    FROM text_table(getvariable('text_step_trace_time'))
);
