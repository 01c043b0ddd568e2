-- The tables that loading the stores made.
-- Run by name: to load them again.
SELECT table_name FROM duckdb_tables() WHERE database_name = 'memory';
