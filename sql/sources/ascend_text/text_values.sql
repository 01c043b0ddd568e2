-- Converts values of the text files. An invalid value is NULL.
--   text_time_ns      a time in microseconds with up to three decimals and an optional TAB after it, as nanoseconds. Never through a float:
--                     a microsecond epoch has 19 digits. A time rounded by a spreadsheet (1.69512E+15) is invalid.
--   text_length_ns    a duration in microseconds, rounded to the nanosecond. text_length_of_ms_ns: one in milliseconds. More than a day is invalid.
--   text_number       a number of sense: from -2^53 to 2^53, so that sums of products stay within what columns hold.
--   text_count        how often something ran, from 0 to 2^53.
--   text_bytes        a size in units of so many bytes.
--   text_step         a step's number: "50" or "step50".
--   text_device       the device's number in "NPU:4".
--   text_layer        the layer of a CANN call; communication was called hccl before.
-- Depends on sound_ns, sound_size.
-- Run by name: before all others.
CREATE OR REPLACE TEMP MACRO text_time_ns(value) AS sound_ns(TRY(CASE
    WHEN regexp_full_match(value, '[0-9]{1,16}[.][0-9]{3}\s*') THEN TRY_CAST(replace(value, '.', '') AS BIGINT)
    WHEN regexp_full_match(value, '\s*[0-9]{1,15}([.][0-9]*)?\s*|\s*[0-8][0-9]{15}([.][0-9]*)?\s*')
        THEN CAST(split_part(trim(value, E' \t\r\n'), '.', 1) || '000' AS BIGINT)
             + CAST(CAST('0.' || split_part(trim(value, E' \t\r\n'), '.', 2) AS DECIMAL(18, 3)) * 1000 AS BIGINT)
END));
CREATE OR REPLACE TEMP MACRO text_length_ns(value) AS
    CASE WHEN TRY_CAST(value AS DECIMAL(18, 3)) BETWEEN 0 AND 86400000000 THEN TRY(CAST(TRY_CAST(value AS DECIMAL(18, 3)) * 1000 AS BIGINT)) END;
CREATE OR REPLACE TEMP MACRO text_length_of_ms_ns(value) AS
    CASE WHEN TRY_CAST(value AS DECIMAL(18, 6)) BETWEEN 0 AND 86400000 THEN TRY(CAST(TRY_CAST(value AS DECIMAL(18, 6)) * 1000000 AS BIGINT)) END;
CREATE OR REPLACE TEMP MACRO text_number(value) AS
    CASE WHEN TRY_CAST(value AS DOUBLE) BETWEEN -9007199254740992 AND 9007199254740992 THEN TRY_CAST(value AS DOUBLE) END;
CREATE OR REPLACE TEMP MACRO text_count(value) AS CASE WHEN TRY_CAST(value AS BIGINT) BETWEEN 0 AND 9007199254740992 THEN TRY_CAST(value AS BIGINT) END;
CREATE OR REPLACE TEMP MACRO text_bytes(value, unit) AS sound_size(TRY_CAST(round(text_number(value) * unit) AS BIGINT));
CREATE OR REPLACE TEMP MACRO text_step(value) AS TRY_CAST(replace(value, 'step', '') AS BIGINT);
CREATE OR REPLACE TEMP MACRO text_device(value) AS TRY_CAST(regexp_extract(value, '([0-9]+)\s*$', 1) AS INTEGER);
CREATE OR REPLACE TEMP MACRO text_layer(value) AS CASE lower(value) WHEN 'hccl' THEN 'communication' ELSE coalesce(lower(value), 'unknown') END;
-- The rows of one CSV file, all as text. Rows with too few or too many cells are left out, and counted in reject_errors.
-- Read by one thread, so that the order of rows is that of the file.
CREATE OR REPLACE TEMP MACRO text_table(path) AS TABLE
    FROM read_csv(path, all_varchar = TRUE, hive_partitioning = FALSE, header = TRUE, delim = ',', quote = '"', escape = '"', parallel = FALSE,
                  ignore_errors = TRUE, store_rejects = TRUE);
