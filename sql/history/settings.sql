-- All versions and settings of the runs.
-- Depends on history_run, history_setting.
SELECT r.number, s.key, s.value, s.divides FROM history_setting AS s JOIN history_run AS r USING (run) ORDER BY r.number, s.key;
