-- The account of each step by blocks, for the path over the ranks (sql/store/path_piece.sql). A block lasts from the start of a collective, or the end of a
-- piece in which the device only communicates, to the next of these. Kernels with different shapes have rows of their own. Exposed communication is in r_exposed.
CREATE TABLE r_block (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    step BIGINT NOT NULL,      -- step.step
    from_ns BIGINT NOT NULL,   -- start of the block, in ns since the epoch
    phase VARCHAR,             -- phase.name; NULL: outside all phases
    kind VARCHAR NOT NULL,     -- as in r_account
    subject VARCHAR,           -- as in r_account; NULL: none
    op_type VARCHAR,           -- as in r_account; NULL: unknown, or no kernel
    core_type VARCHAR,         -- core type of a kernel; NULL: unknown, or no kernel
    input_dtypes VARCHAR,      -- data types of a kernel's inputs; NULL: not recorded
    host_op VARCHAR,           -- name of the operator that launched a kernel; NULL: unknown
    ns BIGINT NOT NULL,        -- time, in ns; always positive
    pieces BIGINT NOT NULL     -- number of uninterrupted pieces that this time consists of
);
