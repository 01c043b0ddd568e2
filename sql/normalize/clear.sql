-- Empties the stage tables before the next capture.
DELETE FROM stage_kernel;
DELETE FROM stage_collective;
DELETE FROM stage_copy;
DELETE FROM stage_host_op;
DELETE FROM stage_phase;
