-- The sequences of operators, each once.
-- Depends on c_sequence_text.
-- Nothing without c_sequence_text.
SELECT hash, kinds, names, depths, tokens FROM c_sequence_text;
