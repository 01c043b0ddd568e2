-- Deletes the rejected rows, which `rejected` has counted.
-- Depends on reject_errors, reject_scans.
-- Run by name: after each file.
DELETE FROM reject_errors;
DELETE FROM reject_scans;
