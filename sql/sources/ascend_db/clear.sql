-- Deletes the captures that were read before. Otherwise a table that cannot be read would still hold their rows.
-- Run by name: before and after each capture, or several that are read together.
DROP TABLE IF EXISTS text_by_id;
DROP TABLE IF EXISTS task;
DROP TABLE IF EXISTS call;
DROP TABLE IF EXISTS launch;
DROP TABLE IF EXISTS framework;
DROP TABLE IF EXISTS host_op_by_connection;
DROP TABLE IF EXISTS unit;
DROP TABLE IF EXISTS unit_name;
DROP TABLE IF EXISTS compute;
DROP TABLE IF EXISTS compute_text;
DROP TABLE IF EXISTS unsound_framework;
DROP TABLE IF EXISTS repeated_row;
DROP TABLE IF EXISTS bare_task;
DROP TABLE IF EXISTS lost_kernel;
DROP TABLE IF EXISTS lost_text;
DROP TABLE IF EXISTS lost_time;
DROP TABLE IF EXISTS lost_collective;
DROP TABLE IF EXISTS communication_op;
SET VARIABLE schema_minor = 0;
DROP TABLE IF EXISTS db_capture;
SET VARIABLE from_ns = NULL;
SET VARIABLE until_ns = NULL;
SET VARIABLE holes = NULL;
