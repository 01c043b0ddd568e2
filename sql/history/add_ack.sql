-- Acknowledges the change that begins with a run.
-- Depends on history_run.
-- Run by name: for each acknowledgement.
INSERT INTO history_ack BY NAME
SELECT run, $made_ns::BIGINT AS made_ns, $reason AS reason, $author AS author, $expires AS expires FROM history_run WHERE number = $number;
