-- Adds the versions and settings of a run.
-- Run by name: for each run.
INSERT INTO history_setting BY NAME
SELECT $run AS run, unnest(from_json($rows, '[{"key": "VARCHAR", "value": "VARCHAR", "divides": "BOOLEAN"}]'), recursive := true);
