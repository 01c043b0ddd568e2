-- The sequences that differ between the sides.
-- Depends on c_sequence_pair, c_sequence_text.
SELECT hash, list_transform(entries, lambda entry: (entry.kind, entry.name, entry.depth)) AS entries, tokens
FROM c_sequence_text
WHERE hash IN (SELECT baseline FROM c_sequence_pair) OR hash IN (SELECT new FROM c_sequence_pair);
