-- Names of the tables that are copied from a pack: those of the store that hold rows of captures.
SELECT c.table_name FROM duckdb_columns() AS c JOIN duckdb_tables() AS t USING (database_name, table_oid)
WHERE c.column_name = 'capture' AND c.database_name = 'store' ORDER BY c.table_name;
