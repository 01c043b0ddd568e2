-- Times of one capture, device and step. An absent measurement is NULL, never 0.
CREATE TABLE r_time (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    step BIGINT NOT NULL,
    compute_ns BIGINT,        -- union of kernels, in a capture of the host alone of its outermost aten operators; NULL where none was recorded
    comm_ns BIGINT,           -- union of collectives; NULL where the profile holds no device time at all
    exposed_comm_ns BIGINT,   -- collectives that no kernel covers; NULL where compute_ns is
    overlapped_comm_ns BIGINT,
    device_span_ns BIGINT,    -- last end − first start over kernels and collectives
    free_ns BIGINT,           -- device_span − compute − exposed_comm
    exposed_copy_ns BIGINT,   -- the part of free covered by copies
    idle_ns BIGINT,           -- the rest of free
    bubble_ns BIGINT,         -- sum of receive operators
    stage_ns BIGINT,          -- device_span − bubble
    p2p_ns BIGINT,            -- sum of send and receive operators of every kind
    step_ns BIGINT,           -- host wall time of the step; NULL where steps are not marked
    preparing_ns BIGINT,      -- step start to first device task; NULL where steps are not marked
    tail_ns BIGINT,           -- step_ns − preparing − device_span (negative where the device outlives the host's step)
    first_ns BIGINT,          -- first start over kernels and collectives
    last_ns BIGINT,
    kernels BIGINT,
    collectives BIGINT
);
