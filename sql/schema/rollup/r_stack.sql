-- Exported call stacks by their three innermost frames.
CREATE TABLE r_stack (
    capture INTEGER NOT NULL,   -- capture.capture
    frame VARCHAR NOT NULL,     -- innermost frame
    callers VARCHAR NOT NULL,   -- up to two callers, the nearest first, joined with ' < '; '' if there are none
    operators BIGINT NOT NULL,  -- number of operators
    self_ns BIGINT NOT NULL     -- time of the operators
);
