-- Whether a time is between the start of the first chosen step and the end of the last, and not in a step that was not chosen. Always true if all
-- steps are wanted.
-- Variables: from_ns, holes, until_ns.
CREATE OR REPLACE TEMP MACRO in_window(ts_ns) AS
    (getvariable('from_ns') IS NULL OR (ts_ns BETWEEN getvariable('from_ns') AND getvariable('until_ns')
     AND (getvariable('holes') IS NULL OR len(list_filter(getvariable('holes'), lambda hole: ts_ns >= hole.from_ns AND ts_ns < hole.until_ns)) = 0)));
