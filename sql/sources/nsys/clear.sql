-- Forgets this capture, so that a table that fails to be read is absent and not the last capture's.
-- Run by name: before and after each capture.
DROP TABLE IF EXISTS nsys_text;
DROP TABLE IF EXISTS nsys_mark;
DROP TABLE IF EXISTS nsys_task;
