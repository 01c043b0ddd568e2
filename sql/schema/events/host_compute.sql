-- Replaces kernels in captures without a device (capture.executor = 'host'): the outermost aten operators of each thread.
CREATE TABLE host_compute (
    id BIGINT NOT NULL,        -- host_op.id
    capture INTEGER NOT NULL,  -- capture.capture
    step BIGINT,               -- step.step; NULL: outside all steps
    phase INTEGER,             -- phase.id; NULL: outside all phases
    start_ns BIGINT,           -- start, in ns since the epoch
    end_ns BIGINT,             -- end, in ns since the epoch
    busy_ns BIGINT,            -- the part that no earlier operator of the step covers, over all threads
    gap_ns BIGINT              -- time right before it in which neither an operator nor a collective ran
);
