-- The time of each step that the account divides: from the step's start to its end on the host, or from the first device task to the last one
-- in steps without marks.
CREATE TABLE r_window (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    step BIGINT NOT NULL,      -- step.step
    from_ns BIGINT NOT NULL,   -- start, in ns since the epoch
    until_ns BIGINT NOT NULL   -- end, in ns since the epoch
);
