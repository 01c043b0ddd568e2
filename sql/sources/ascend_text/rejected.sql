-- How many rows of CSV files DuckDB left out, because they have too few or too many cells. It makes the table when it reads the first file.
-- Depends on reject_errors.
SELECT count(DISTINCT (scan_id, file_id, line)) FROM reject_errors;
