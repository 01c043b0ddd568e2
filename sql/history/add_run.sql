-- Adds a run; its number is the next one.
-- Depends on history_run.
-- Run by name: for each run.
INSERT INTO history_run BY NAME
SELECT unnest(from_json($run, '{"run": "VARCHAR", "name": "VARCHAR", "started_ns": "BIGINT", "start_known": "BOOLEAN", "added_ns": "BIGINT", "label": "VARCHAR",
    "commit_id": "VARCHAR", "author": "VARCHAR", "dirty": "BOOLEAN", "status": "VARCHAR", "reason": "VARCHAR", "headline": "VARCHAR", "config": "VARCHAR",
    "rlcompare": "VARCHAR"}')),
    (SELECT coalesce(max(number), 0) + 1 FROM history_run) AS number;
