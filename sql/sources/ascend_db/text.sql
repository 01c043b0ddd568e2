-- Texts by id, cleaned once. `undecodable`: a text is not valid UTF-8, and Python has to decode it.
-- Depends on profile_text, src_STRING_IDS.
-- Nothing without src_STRING_IDS.
CREATE OR REPLACE TEMP TABLE text_by_id AS
SELECT capture, id, profile_text(value) AS value, coalesce(length(value) > 10000, FALSE) AS shortened, FALSE AS is_short, undecodable FROM src_STRING_IDS;
