-- What stands for kernels in a capture of the host alone (capture.executor = 'host'): the outermost aten operators of each thread.
CREATE TABLE host_compute (
    id BIGINT NOT NULL,       -- host_op.id
    capture INTEGER NOT NULL,
    step BIGINT,
    phase INTEGER,
    start_ns BIGINT,
    end_ns BIGINT,
    busy_ns BIGINT,           -- its own share of the union over all threads in the step (first come, first counted)
    gap_ns BIGINT             -- time right before it in which neither an operator nor a collective ran
);
