-- is_head(text): whether a name is one of those with the most time.
-- Depends on c_head.
-- Run by name: on each connection, in place of the macro of the same name, if there are very many names.
CREATE OR REPLACE TEMP MACRO is_head(text) AS text IS NOT NULL AND hash(text) IN (SELECT name FROM c_head);
