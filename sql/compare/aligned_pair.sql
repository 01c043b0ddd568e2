-- The pairs of different sequences of operators, those of most members first.
-- Depends on c_sequence_pair.
SELECT baseline, new, part FROM c_sequence_pair ORDER BY part DESC, baseline, new;
