-- Whether two times can be the start and the end of something that a profiler recorded: after 1970, in order, within a day of each other.
-- Anything else is damage, and would overflow sums and swallow every other interval.
CREATE OR REPLACE TEMP MACRO is_span(start_ns, end_ns) AS
    coalesce(start_ns > 0 AND end_ns >= start_ns AND end_ns - 86400000000000 <= start_ns, FALSE);
