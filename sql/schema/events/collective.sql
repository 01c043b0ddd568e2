-- Communication operators, send and receive included.
CREATE TABLE collective (
    id BIGINT NOT NULL,        -- key with capture
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    step BIGINT,               -- step.step; NULL: outside all steps
    phase INTEGER,             -- phase.id; NULL: outside all phases
    name VARCHAR,              -- name as in the profile
    kind VARCHAR NOT NULL,     -- all_reduce | all_gather | reduce_scatter | broadcast | all_to_all | send | recv | batch_send_recv | …
    group_name VARCHAR,        -- communication group, as in the profile; NULL: unknown
    group_ranks VARCHAR,       -- global ranks of the group, as '0,1,2,3'; NULL: unknown
    ordinal INTEGER,           -- position in time among collectives of the same step, device, kind and group, from 0
    start_ns BIGINT,           -- start, in ns since the epoch
    end_ns BIGINT,             -- end, in ns since the epoch
    wait_ns BIGINT,            -- duration − transit_ns; NULL if task types are unknown (Level0), or over RDMA
    transit_ns BIGINT,         -- union of its tasks other than Notify_*; NULL if task types are unknown (Level0), or over RDMA
    size_bytes BIGINT,         -- size of the data; NULL: unknown
    dtype VARCHAR,             -- data type; NULL: unknown
    algorithm VARCHAR,         -- algorithm of HCCL; NULL: unknown
    busy_ns BIGINT,            -- the part that no earlier collective of the same device and step covers
    exposed_ns BIGINT,         -- the part of busy_ns that no kernel of the device covers; NULL: no kernels were recorded
    gap_ns BIGINT              -- free time of the device right before it
);
