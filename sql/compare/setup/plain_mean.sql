-- side_mean without an order of summation, which long tables take much time and memory for. The same bits if a value is the sum of at most two
-- amounts, as any_order finds.
-- Run by name: on each connection, in place of the macro of the same name.
CREATE OR REPLACE TEMP MACRO side_mean(amount, divisor, wanted) AS sum(amount / divisor) FILTER (WHERE wanted);
