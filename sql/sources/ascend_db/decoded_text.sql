-- Texts by id, decoded by Python. Used instead of text.sql.
-- Variables: capture.
-- Depends on decoded_texts, profile_text.
-- Run by name: in place of text, where a text is not valid UTF-8.
CREATE OR REPLACE TEMP TABLE text_by_id AS
SELECT getvariable('capture') AS capture, id, profile_text(value) AS value, coalesce(length(value) > 10000, FALSE) AS shortened, FALSE AS is_short FROM decoded_texts;
