-- Names of the tables that are copied from a pack: those of the store that have rows of captures in it.
SELECT c.table_name FROM duckdb_columns() AS c JOIN duckdb_tables() AS t USING (database_name, table_oid)
JOIN duckdb_tables() AS p ON p.database_name = 'pack' AND p.table_name = c.table_name
WHERE c.column_name = 'capture' AND c.database_name = 'store' AND p.estimated_size > 0 ORDER BY c.table_name;
