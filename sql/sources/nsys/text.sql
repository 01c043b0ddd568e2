-- Texts by id, cleaned once. Depends on src_StringIds.
CREATE OR REPLACE TEMP TABLE nsys_text AS SELECT id, profile_text(value) AS value FROM src_StringIds;
