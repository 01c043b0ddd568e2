-- The tables that hold rows of captures, in the store and in memory.
SELECT t.table_name FROM duckdb_tables() AS t JOIN duckdb_columns() AS c USING (table_oid, database_name)
WHERE c.column_name = 'capture' AND t.database_name IN ('store', 'memory', 'temp') ORDER BY t.table_name;
