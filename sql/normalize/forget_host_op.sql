-- Empties stage_host_op, whose rows are in host_op now. The device tables need the memory.
-- Variables: capture.
-- Runs after category, device_task, host_op, host_op_edge, host_op_parent, host_op_place, phase_range, session,
-- user_phase.
CREATE OR REPLACE TEMP TABLE stage_host_op AS FROM stage_host_op LIMIT 0;
ALTER TABLE stage_host_op ALTER capture SET DEFAULT getvariable('capture');
DROP TABLE host_op_edge;
DROP TABLE host_op_parent;
DROP TABLE host_op_self;
DROP TABLE host_op_place;
