-- Texts by id, decoded by Python. Used instead of text.sql.
-- Depends on decoded_texts, profile_text.
-- Run by name: in place of text, where a text is not valid UTF-8.
CREATE OR REPLACE TEMP TABLE nsys_text AS SELECT id, profile_text(value) AS value FROM decoded_texts;
