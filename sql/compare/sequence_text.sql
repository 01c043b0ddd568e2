-- The sequences that differ between the sides.
-- Depends on c_sequence_pair, c_sequence_text.
SELECT hash, kinds, names, depths, tokens FROM c_sequence_text
WHERE hash IN (SELECT baseline FROM c_sequence_pair) OR hash IN (SELECT new FROM c_sequence_pair);
