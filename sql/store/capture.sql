-- Captures as detection found them. Parameter: a JSON list of rows.
INSERT INTO capture BY NAME
SELECT unnest(from_json($1, '[{
    "capture": "INTEGER", "role": "VARCHAR", "phase": "VARCHAR", "replica": "INTEGER", "rank": "INTEGER", "ordinal": "INTEGER",
    "step_hint": "BIGINT", "step_place": "BIGINT", "world_size": "INTEGER", "tool": "VARCHAR", "level": "VARCHAR", "source": "VARCHAR",
    "path": "VARCHAR", "host_start_ns": "BIGINT"
}]'), recursive := TRUE), 'device' AS executor;
