-- The columns of text of the tables that have rows: of the store, of events in memory, and of the stage, whose tables
-- are temporary. Parameter: the only tables wanted, or NULL.
SELECT database_name, table_name, column_name
FROM duckdb_columns()
JOIN duckdb_tables() USING (database_name, schema_name, table_name)
WHERE database_name IN ('memory', 'temp', 'store')
  AND schema_name = 'main'
  AND data_type = 'VARCHAR'
  AND estimated_size > 0
  AND coalesce(list_contains(CAST($1 AS VARCHAR[]), table_name), TRUE)
ORDER BY ALL;
