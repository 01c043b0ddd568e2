-- Drops the stage tables, to free memory for the rollups: rows that are only deleted keep theirs.
-- Run by name: after the captures of a batch.
DROP TABLE stage_kernel;
DROP TABLE stage_collective;
DROP TABLE stage_copy;
DROP TABLE stage_host_op;
DROP TABLE stage_phase;
DROP TABLE IF EXISTS phase_range;
DROP TABLE IF EXISTS user_phase;
DROP TABLE IF EXISTS coverage;
DROP TABLE IF EXISTS exposed;
DROP TABLE IF EXISTS kernel_category;
DROP TABLE IF EXISTS host_op_edge;
DROP TABLE IF EXISTS host_op_parent;
DROP TABLE IF EXISTS host_op_self;
DROP TABLE IF EXISTS host_op_place;
