-- sum_of_runs and sum_of_groups without an order of summation, which takes most of the time of a query where there are many steps. The same bits if a
-- sum has at most two amounts, as few_runs finds.
-- Run by name: on each connection, in place of the macros of the same names.
CREATE OR REPLACE TEMP MACRO sum_of_runs(amount, run) AS sum(amount);
CREATE OR REPLACE TEMP MACRO sum_of_groups(amount, role, folder) AS sum(amount);
