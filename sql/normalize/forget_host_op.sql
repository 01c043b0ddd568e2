-- From here on host_op stands for the operators as the source found them, and the memory of these is wanted for other tables.
-- Depends on host_op.
CREATE OR REPLACE TEMP TABLE stage_host_op AS FROM stage_host_op LIMIT 0;
DROP TABLE host_op_depth;
DROP TABLE host_op_parent;
DROP TABLE host_op_place;
