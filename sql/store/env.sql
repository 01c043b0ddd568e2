-- Versions and settings of captures. Parameter: a JSON list of rows.
INSERT INTO env BY NAME
SELECT unnest(from_json($1, '[{"capture": "INTEGER", "key": "VARCHAR", "value": "VARCHAR"}]'), recursive := TRUE);
