-- Adds the metrics of a run.
-- Run by name: for each run.
INSERT INTO history_value BY NAME
SELECT $run AS run, unnest(from_json($rows, '[{"metric": "VARCHAR", "unit": "VARCHAR", "value": "DOUBLE"}]'), recursive := true);
