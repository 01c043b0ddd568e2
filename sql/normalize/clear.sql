-- Empties the stage tables, to free memory for the rollups.
-- Depends on stage_collective, stage_copy, stage_host_op, stage_kernel, stage_phase.
-- Run by name: after the captures of a batch.
DELETE FROM stage_kernel;
DELETE FROM stage_collective;
DELETE FROM stage_copy;
DELETE FROM stage_host_op;
DELETE FROM stage_phase;
DROP TABLE IF EXISTS phase_range;
DROP TABLE IF EXISTS device_task;
DROP TABLE IF EXISTS placed;
DROP TABLE IF EXISTS coverage;
DROP TABLE IF EXISTS exposed;
DROP TABLE IF EXISTS kernel_category;
DROP TABLE IF EXISTS host_op_depth;
DROP TABLE IF EXISTS host_op_parent;
DROP TABLE IF EXISTS host_op_place;
