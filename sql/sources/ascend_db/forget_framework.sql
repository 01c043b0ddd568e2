-- Frees the memory of the framework's rows: the tables made from them hold them now.
-- Depends on framework.
-- Runs after host_op, host_op_by_connection, module, range.
SET VARIABLE unsound_framework = (SELECT count(*) FROM framework WHERE NOT sound);
DROP TABLE framework;
