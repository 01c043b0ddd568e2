-- trace_arg(label, amount): a member of a JSON object; NULL if the value is. `label` is a literal.
-- trace_text(words): the first 500 characters.
-- Run by name: once per connection.
CREATE OR REPLACE TEMP MACRO trace_arg(label, amount) AS concat('"', label, '":') || CAST(to_json(amount) AS VARCHAR);
CREATE OR REPLACE TEMP MACRO trace_text(words) AS left(words, 500);
