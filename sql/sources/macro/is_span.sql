-- Whether two times can be the start and the end of a recorded event: after 1970, in order, within a day of each other. Any other pair is
-- damage: it would overflow sums, and cover every other interval. No operation here overflows, for any two values.
CREATE OR REPLACE TEMP MACRO is_span(start_ns, end_ns) AS
    coalesce(start_ns > 0 AND end_ns >= start_ns AND end_ns < 4611686018427387904 AND greatest(end_ns, 0) - 86400000000000 <= start_ns, FALSE);
