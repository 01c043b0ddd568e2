-- The tables that have rows: of the store, of events in memory, and of the stage, whose tables are temporary.
SELECT database_name, table_name
FROM duckdb_tables()
WHERE database_name IN ('memory', 'temp', 'store') AND schema_name = 'main' AND estimated_size > 0
ORDER BY ALL;
