-- The configurations that continue another one have its environment.
-- Depends on run_environment.
-- Run by name: with a JSON list of pairs of a digest and an environment as the only parameter.
UPDATE run_environment SET environment = joined.environment
FROM (SELECT unnest(from_json($1, '[{"digest": "VARCHAR", "environment": "VARCHAR"}]'), recursive := TRUE)) AS joined
WHERE run_environment.environment = joined.digest;
