-- Framework operators without time stamps, one row per call, summed by name.
-- Variables: capture, text_operator_details.
-- Depends on profile_text, text_length_ns, text_table.
-- Run by name: for its file.
INSERT INTO reported_operator
SELECT getvariable('capture'), profile_text("Name") AS operator, count(*), sum(text_length_ns("Host Total Duration(us)")), sum(text_length_ns("Host Self Duration(us)")),
       sum(text_length_ns("Device Total Duration(us)")), sum(text_length_ns("Device Self Duration(us)"))
FROM (
    SELECT NULL::VARCHAR AS "Name", NULL::VARCHAR AS "Host Total Duration(us)", NULL::VARCHAR AS "Host Self Duration(us)",
           NULL::VARCHAR AS "Device Total Duration(us)", NULL::VARCHAR AS "Device Self Duration(us)" WHERE FALSE
    UNION ALL BY NAME
    FROM text_table(getvariable('text_operator_details'))
) GROUP BY operator;
