-- Framework operators on the host.
CREATE TABLE host_op (
    id BIGINT NOT NULL,        -- key with capture
    capture INTEGER NOT NULL,  -- capture.capture
    thread BIGINT,             -- thread on the host, numbered as in the profile; NULL: unknown
    name VARCHAR,              -- name, such as aten::mm
    start_ns BIGINT,           -- start, in ns since the epoch
    end_ns BIGINT,             -- end, in ns since the epoch
    step BIGINT,               -- step.step; NULL: outside all steps
    phase INTEGER,             -- phase.id; NULL: outside all phases
    parent_id BIGINT,          -- host_op.id of the operator of the same thread that directly contains it; NULL: none
    sequence_number BIGINT,    -- autograd's number, which a forward operator shares with its backward one; NULL: none
    input_shapes VARCHAR,      -- dimensions of its inputs, as '2,3;;4'; NULL: not recorded
    input_dtypes VARCHAR,      -- data types of its inputs, separated by ';'; NULL: not recorded
    self_ns BIGINT,            -- time in which no operator inside it runs: its duration without those directly inside; NULL if the thread is unknown
    device_self_ns BIGINT,     -- time of the kernels that it launched itself; NULL if launches are unknown
    device_ns BIGINT,          -- time of the kernels launched inside it, at any depth; NULL if launches are unknown
    depth INTEGER              -- 1: in no other operator of its thread, 2: in one, …; NULL if it has no length, or the thread is unknown
);
