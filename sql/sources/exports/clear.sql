-- Forgets what was read of one file. Depends on nothing.
DROP TABLE IF EXISTS stack_line;
DROP TABLE IF EXISTS timeline_document;
DROP TABLE IF EXISTS timeline_level;
