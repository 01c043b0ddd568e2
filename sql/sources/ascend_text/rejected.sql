-- Number of CSV rows that DuckDB left out because they have too few or too many cells. DuckDB creates the table when it reads the first
-- file.
-- Depends on reject_errors.
SELECT count(DISTINCT (scan_id, file_id, line)) FROM reject_errors;
