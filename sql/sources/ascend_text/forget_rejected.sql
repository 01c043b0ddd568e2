-- Forgets what `rejected` counted.
DELETE FROM reject_errors;
DELETE FROM reject_scans;
