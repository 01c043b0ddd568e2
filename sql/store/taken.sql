-- The captures that are copied from a pack, by their numbers in the pack and in the run. Parameter: a JSON list of rows.
CREATE OR REPLACE TEMP TABLE taken AS
SELECT unnest(from_json($1, '[{"place": "INTEGER", "number": "INTEGER", "path": "VARCHAR"}]'), recursive := TRUE);
