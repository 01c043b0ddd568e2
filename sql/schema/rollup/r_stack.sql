-- Exported call stacks by their three innermost frames.
CREATE TABLE r_stack (
    capture INTEGER NOT NULL,
    frame VARCHAR NOT NULL,     -- the innermost
    callers VARCHAR NOT NULL,   -- up to two, the nearest first, joined with " < "; '' where there is none
    operators BIGINT NOT NULL,
    self_ns BIGINT NOT NULL
);
