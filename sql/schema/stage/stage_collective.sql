-- Communication operators as a source found them. Holds all captures of the batch.
-- Variables: capture.
CREATE TEMP TABLE stage_collective (
    capture INTEGER NOT NULL DEFAULT getvariable('capture'),
    id BIGINT NOT NULL,
    device_id INTEGER,
    name VARCHAR,             -- hcom_allReduce__210_0_1
    op_type VARCHAR,          -- hcom_allReduce_; NULL where the profile has none (Level0)
    group_name VARCHAR,       -- as in the profile: a hash, an address, or a thread's name
    group_ranks VARCHAR,      -- global ranks, "0,1,2,3", where known
    start_ns BIGINT,
    end_ns BIGINT,
    wait_ns BIGINT,           -- elapsed − transit; NULL where task types are unknown, or over RDMA
    transit_ns BIGINT,        -- union of the operator's tasks other than Notify_*
    size_bytes BIGINT,
    dtype VARCHAR,
    algorithm VARCHAR,
    reported_step BIGINT,
    launch_ns BIGINT,
    host_op_ns BIGINT
);
