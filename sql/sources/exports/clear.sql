-- Deletes the rows that were read from one file.
-- Run by name: after each file.
DROP TABLE IF EXISTS stack_line;
DROP TABLE IF EXISTS timeline_document;
DROP TABLE IF EXISTS timeline_level;
