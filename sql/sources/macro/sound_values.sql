-- Values of a profile that are safe to use. A damaged file may hold any bytes and any number. An invalid value becomes NULL.
--   sound_text   a text that is valid UTF-8. DuckDB's string functions rely on that: on truncated characters some of them never end.
--   sound_ns     a time or a duration: 0 to 2^62 nanoseconds (the year 2116), so that differences and sums stay within a BIGINT.
--   sound_size   a size, a length, or a difference of two: from -2^53 to 2^53 bytes or nanoseconds.
CREATE OR REPLACE TEMP MACRO sound_text(value) AS TRY(decode(encode(CAST(value AS VARCHAR))));
CREATE OR REPLACE TEMP MACRO sound_ns(value) AS CASE WHEN value BETWEEN 0 AND 4611686018427387904 THEN value END;
CREATE OR REPLACE TEMP MACRO sound_size(value) AS CASE WHEN value BETWEEN -9007199254740992 AND 9007199254740992 THEN value END;
