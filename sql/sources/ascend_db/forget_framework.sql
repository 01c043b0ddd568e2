-- Frees the memory of the framework's rows, which are in the tables made from them now.
-- Depends on framework.
-- Nothing without framework.
-- Runs after host_op, host_op_by_connection, module, range.
CREATE OR REPLACE TEMP TABLE unsound_framework AS SELECT capture, count(*) AS unsound FROM framework WHERE NOT sound GROUP BY capture;
DROP TABLE framework;
