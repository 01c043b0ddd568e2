-- Memory levels by component, in MB of 2^20. APP has reserved bytes only.
-- Variables: capture, text_memory_record.
-- Depends on profile_text, text_bytes, text_device, text_table, text_time_ns.
-- Run by name: for its file.
INSERT INTO memory
SELECT getvariable('capture'), text_device("Device Type"), coalesce(profile_text("Component"), 'unknown'), text_time_ns("Timestamp(us)"),
       text_bytes("Total Allocated(MB)", 1048576), text_bytes("Total Reserved(MB)", 1048576), text_bytes("Total Active(MB)", 1048576)
FROM (
    SELECT NULL::VARCHAR AS "Component", NULL::VARCHAR AS "Timestamp(us)", NULL::VARCHAR AS "Total Allocated(MB)", NULL::VARCHAR AS "Total Reserved(MB)",
           NULL::VARCHAR AS "Total Active(MB)", NULL::VARCHAR AS "Device Type" WHERE FALSE
    UNION ALL BY NAME
    FROM text_table(getvariable('text_memory_record'))
);
