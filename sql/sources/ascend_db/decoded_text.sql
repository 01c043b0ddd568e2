-- Texts by id where Python had to decode them, in place of text.sql. Depends on the registered table decoded_texts.
CREATE OR REPLACE TEMP TABLE text_by_id AS
SELECT id, profile_text(value) AS value, coalesce(length(value) > 10000, FALSE) AS shortened FROM decoded_texts;
