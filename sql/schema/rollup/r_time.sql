-- Times per capture, device and step. A missing measurement is NULL, never 0.
CREATE TABLE r_time (
    capture INTEGER NOT NULL,   -- capture.capture
    device_id INTEGER,          -- device; NULL: the host, or unknown
    step BIGINT NOT NULL,       -- step.step
    compute_ns BIGINT,          -- union of kernels (executor host: of outermost aten operators); NULL if none was recorded
    comm_ns BIGINT,             -- union of collectives; NULL if the profile holds no device times
    exposed_comm_ns BIGINT,     -- collectives that no kernel covers; NULL if compute_ns is NULL
    overlapped_comm_ns BIGINT,  -- comm_ns − exposed_comm_ns
    device_span_ns BIGINT,      -- last_ns − first_ns
    free_ns BIGINT,             -- device_span_ns − compute_ns − exposed_comm_ns
    exposed_copy_ns BIGINT,     -- the part of free_ns covered by copies
    idle_ns BIGINT,             -- free_ns − exposed_copy_ns
    bubble_ns BIGINT,           -- union of receive operators
    stage_ns BIGINT,            -- device_span_ns − bubble_ns
    p2p_ns BIGINT,              -- union of all send and receive operators
    step_ns BIGINT,             -- host time of the step; NULL if steps are not marked
    preparing_ns BIGINT,        -- from the start of the step on the host to the first device task; NULL if steps are not marked, or by another clock
    tail_ns BIGINT,             -- step_ns − preparing_ns − device_span_ns; negative if the device finishes after the host
    first_ns BIGINT,            -- first start of kernels and collectives, in ns since the epoch
    last_ns BIGINT,             -- last end of kernels and collectives, in ns since the epoch
    kernels BIGINT,             -- number of kernels
    collectives BIGINT          -- number of collectives
);
