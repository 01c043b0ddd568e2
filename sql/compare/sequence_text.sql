-- The sequences of operators, each once.
-- Depends on c_sequence_text.
-- Nothing without c_sequence_text.
SELECT hash, kinds, list_transform(names, lambda name: coalesce(name, '(unnamed)')) AS names, depths, tokens FROM c_sequence_text;
