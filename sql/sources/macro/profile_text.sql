-- A string from a profile: NULL if the profiler marks it as absent, without the quotes that it puts around shapes, and never longer than
-- 10,000 characters (a name of a megabyte would be copied into every row, report and terminal).
CREATE OR REPLACE TEMP MACRO profile_text(value) AS
    CASE WHEN value IS NULL OR value IN ('', 'N/A', 'NULL', '""') THEN NULL
         WHEN starts_with(value, '"') OR ends_with(value, '"') OR strlen(value) > 10000 THEN left(trim(value, '"'), 10000)
         ELSE value END;
-- Framework operators print one argument per line.
CREATE OR REPLACE TEMP MACRO argument_text(value) AS profile_text(replace(replace(value, chr(13), ''), chr(10), ''));
