-- The operators and modules of a typical step of each capture, in the order in which they started, thread by thread. Typical: of the steps that
-- call the same operators equally often, which are the most. Two sides are aligned by it.
CREATE TABLE r_sequence (
    capture INTEGER NOT NULL,  -- capture.capture
    steps BIGINT[] NOT NULL,   -- the steps that call the same operators equally often; the sequence is that of the first
    entries STRUCT(kind VARCHAR, name VARCHAR, depth INTEGER)[] NOT NULL, -- what occurs in it. Kind: thread (a thread begins), operator, module, end (of a module). Depth: host_op.depth, NULL if not an operator
    tokens INTEGER[] NOT NULL, -- the sequence; places in entries, from 0
    hash UBIGINT NOT NULL      -- of entries and tokens: equal sequences have the same
);
