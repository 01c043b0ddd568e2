-- Sums by CANN call.
-- Variables: capture, text_api_statistic.
-- Depends on profile_text, text_count, text_layer, text_length_ns, text_table.
-- Run by name: for its file.
INSERT INTO reported_api
SELECT getvariable('capture'), text_layer("Level"), profile_text("API Name"), text_count("Count"), text_length_ns("Time(us)"),
       text_length_ns("Min(us)"), text_length_ns("Max(us)")
FROM (
    SELECT NULL::VARCHAR AS "Level", NULL::VARCHAR AS "API Name", NULL::VARCHAR AS "Count", NULL::VARCHAR AS "Time(us)", NULL::VARCHAR AS "Min(us)",
           NULL::VARCHAR AS "Max(us)" WHERE FALSE
    UNION ALL BY NAME
    FROM text_table(getvariable('text_api_statistic'))
);
