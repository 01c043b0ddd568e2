-- Whether a time lies from the start of the first chosen step to the end of the last; always, where all steps are wanted.
-- Variables: from_ns, until_ns.
CREATE OR REPLACE TEMP MACRO in_window(ts_ns) AS
    (getvariable('from_ns') IS NULL OR ts_ns BETWEEN getvariable('from_ns') AND getvariable('until_ns'));
