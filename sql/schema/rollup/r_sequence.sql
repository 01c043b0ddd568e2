-- The operators and modules of a typical step of each capture, in the order in which they started, thread by thread. Typical: of the steps that
-- call the same operators equally often, which are the most. Two sides are aligned by it.
CREATE TABLE r_sequence (
    capture INTEGER NOT NULL,   -- capture.capture
    steps BIGINT[] NOT NULL,    -- the steps that call the same operators equally often; the sequence is that of the first
    kinds VARCHAR[] NOT NULL,   -- of each different entry: thread (a thread begins), operator, module, or end (of a module)
    names VARCHAR[] NOT NULL,   -- its name; '' for a thread
    depths INTEGER[] NOT NULL,  -- host_op.depth of operators; NULL for others
    tokens INTEGER[] NOT NULL,  -- the sequence: places in the three lists, from 0
    hash UBIGINT NOT NULL       -- equal sequences have the same
);
