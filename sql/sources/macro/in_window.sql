-- Whether a time is between the start of the first chosen step and the end of the last. Always true if all steps are wanted.
-- Variables: from_ns, until_ns.
CREATE OR REPLACE TEMP MACRO in_window(ts_ns) AS
    (getvariable('from_ns') IS NULL OR ts_ns BETWEEN getvariable('from_ns') AND getvariable('until_ns'));
