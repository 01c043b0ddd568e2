-- One row per allocation. Sizes are in KB of 2^10. Durations end with a TAB, as times do. Without a release time, the memory was not
-- released.
-- Variables: capture, text_operator_memory.
-- Depends on profile_text, text_bytes, text_device, text_length_ns, text_table, text_time_ns.
-- Run by name: for its file.
INSERT INTO allocation
SELECT getvariable('capture'), text_device("Device Type"), profile_text("Name"), text_bytes("Size(KB)", 1024), text_time_ns("Allocation Time(us)"),
       text_time_ns("Release Time(us)"), text_length_ns("Duration(us)")
FROM (
    SELECT NULL::VARCHAR AS "Name", NULL::VARCHAR AS "Size(KB)", NULL::VARCHAR AS "Allocation Time(us)", NULL::VARCHAR AS "Release Time(us)",
           NULL::VARCHAR AS "Duration(us)", NULL::VARCHAR AS "Device Type" WHERE FALSE
    UNION ALL BY NAME
    FROM text_table(getvariable('text_operator_memory'))
);
