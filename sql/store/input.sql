-- The files that the store was made from. Parameter: a JSON list of rows.
INSERT INTO input BY NAME
SELECT unnest(from_json($1, '[{"path": "VARCHAR", "size_bytes": "BIGINT", "mtime_ns": "BIGINT", "digest": "VARCHAR"}]'), recursive := TRUE);
