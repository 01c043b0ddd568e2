-- Forgets the previous capture, so that a table that fails to be read is absent and not the last capture's.
-- Run by name: before and after each capture.
DROP TABLE IF EXISTS text_by_id;
DROP TABLE IF EXISTS task;
DROP TABLE IF EXISTS launch;
DROP TABLE IF EXISTS framework;
DROP TABLE IF EXISTS host_op_by_connection;
DROP TABLE IF EXISTS cube;
DROP TABLE IF EXISTS compute;
DROP TABLE IF EXISTS compute_text;
SET VARIABLE unsound_framework = 0;
SET VARIABLE repeated_rows = 0;
SET VARIABLE schema_minor = 0;
SET VARIABLE only_device = NULL;
SET VARIABLE from_ns = NULL;
SET VARIABLE until_ns = NULL;
