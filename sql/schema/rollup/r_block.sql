-- The account of each step by blocks, for the path over the ranks (sql/store/path_piece.sql). A block lasts from the start of a collective, or the end of a
-- piece in which the device only communicates, to the next of these. Shapes of kernels are in r_kernel alone. Exposed communication is in r_exposed.
CREATE TABLE r_block (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    step BIGINT NOT NULL,      -- step.step
    from_ns BIGINT NOT NULL,   -- start of the block, in ns since the epoch
    phase VARCHAR,             -- phase.name; NULL: outside all phases
    label INTEGER NOT NULL,    -- r_label.label of the same capture
    ns BIGINT NOT NULL,        -- time, in ns; always positive
    pieces BIGINT NOT NULL     -- number of uninterrupted pieces that this time consists of
);
