-- What stands for kernels in a capture of the host alone (capture.executor = 'host'): the outermost aten operators of each thread.
CREATE TABLE host_compute (
    id BIGINT NOT NULL,        -- host_op.id
    capture INTEGER NOT NULL,  -- capture.capture
    step BIGINT,               -- step.step; NULL: outside all steps
    phase INTEGER,             -- phase.id; NULL: outside all phases
    start_ns BIGINT,           -- start, in ns since the epoch
    end_ns BIGINT,             -- end, in ns since the epoch
    busy_ns BIGINT,            -- its share of the union over all threads in the step
    gap_ns BIGINT              -- time right before it in which neither an operator nor a collective ran
);
