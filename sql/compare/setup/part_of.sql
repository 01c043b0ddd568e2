-- in_part(name): whether a metric is one of those from first_name to last_name.
-- Variables: first_name, last_name.
-- Run by name: on each connection, in place of the macro of the same name, if there are very many values.
CREATE OR REPLACE TEMP MACRO in_part(name) AS
    name BETWEEN CAST(getvariable('first_name') AS metric_name) AND CAST(getvariable('last_name') AS metric_name);
