-- The number of steps that have a value.
-- Depends on sample_of_step.
SELECT count(DISTINCT step) FROM sample_of_step;
