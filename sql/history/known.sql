-- The run with a content, if the history has it.
-- Depends on history_run.
SELECT number, added_ns FROM history_run WHERE run = $run;
