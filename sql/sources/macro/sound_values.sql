-- What of a profile may be used as it is. A damaged file holds any bytes and any number: an odd one is NULL, and spoils nothing beside it.
--   sound_text   a text that is UTF-8. DuckDB's string functions take that for granted: on cut characters some of them never end.
--   sound_ns     a time or a duration: 0 to 2^62 nanoseconds (the year 2116), so that differences and sums stay within a BIGINT.
--   sound_size   a size, a length, or a difference of two: at most 2^53 either way, bytes or nanoseconds.
CREATE OR REPLACE TEMP MACRO sound_text(value) AS TRY(decode(encode(CAST(value AS VARCHAR))));
CREATE OR REPLACE TEMP MACRO sound_ns(value) AS CASE WHEN value BETWEEN 0 AND 4611686018427387904 THEN value END;
CREATE OR REPLACE TEMP MACRO sound_size(value) AS CASE WHEN value BETWEEN -9007199254740992 AND 9007199254740992 THEN value END;
