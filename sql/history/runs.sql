-- All runs in the order of their start, with their environments.
-- Depends on history_run, run_environment.
SELECT r.run, r.number, r.name, r.started_ns, r.start_known, r.label, r.commit_id, r.author, r.dirty, r.status, r.reason, r.headline, e.environment
FROM history_run AS r JOIN run_environment AS e USING (run)
ORDER BY r.started_ns, r.number;
