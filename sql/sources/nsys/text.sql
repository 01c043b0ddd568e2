-- Texts by id, cleaned once. `undecodable`: a text is not valid UTF-8, and Python has to decode it.
-- Depends on profile_text, src_StringIds.
-- Nothing without src_StringIds.
CREATE OR REPLACE TEMP TABLE nsys_text AS SELECT id, profile_text(value) AS value, undecodable FROM src_StringIds;
