-- A time of a track or lane as a number that is larger than those of all tracks or lanes before it: on_line(number of the track, ns). A running
-- maximum over sorted rows then needs no partition, and DuckDB streams it.
CREATE OR REPLACE TEMP MACRO on_line(number, ns) AS CAST(number AS HUGEINT) * 18446744073709551616 + ns;
