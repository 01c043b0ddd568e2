-- Deletes this capture's tables. Otherwise a table that cannot be read would still hold rows of the last capture.
-- Run by name: before and after each capture.
DROP TABLE IF EXISTS nsys_text;
DROP TABLE IF EXISTS nsys_mark;
DROP TABLE IF EXISTS nsys_task;
