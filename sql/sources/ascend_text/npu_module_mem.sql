-- Memory reserved by CANN modules, in MB of 2^20.
-- Variables: capture, text_npu_module_mem.
-- Depends on profile_text, text_bytes, text_device, text_table, text_time_ns.
-- Run by name: for its file.
INSERT INTO memory
SELECT getvariable('capture'), text_device("Device"), 'module ' || coalesce(profile_text("Component"), 'unknown'), text_time_ns("Timestamp(us)"), NULL,
       text_bytes("Total Reserved(MB)", 1048576), NULL
FROM (
    SELECT NULL::VARCHAR AS "Component", NULL::VARCHAR AS "Timestamp(us)", NULL::VARCHAR AS "Total Reserved(MB)", NULL::VARCHAR AS "Device" WHERE FALSE
    UNION ALL BY NAME
    FROM text_table(getvariable('text_npu_module_mem'))
);
