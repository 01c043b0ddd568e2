-- Properties of the store. Parameter: a JSON list of rows.
INSERT INTO meta BY NAME
SELECT unnest(from_json($1, '[{"key": "VARCHAR", "value": "VARCHAR"}]'), recursive := TRUE);
