-- Texts by id where Python had to decode them, in place of text.sql. Depends on the registered table decoded_texts.
CREATE OR REPLACE TEMP TABLE nsys_text AS SELECT id, profile_text(value) AS value FROM decoded_texts;
