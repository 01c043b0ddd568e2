-- One row per collective, in order of time. Ranks are aligned by ordinal, start and end.
CREATE TABLE r_collective (
    capture INTEGER NOT NULL,    -- capture.capture
    device_id INTEGER,           -- device; NULL: the host, or unknown
    step BIGINT,                 -- step.step; NULL: outside all steps
    phase VARCHAR,               -- phase.name; NULL: outside all phases
    kind VARCHAR NOT NULL,       -- collective.kind
    group_key VARCHAR NOT NULL,  -- members of the group ('0,1,2,3'); if unknown, 'group N', numbered by kinds and order of first use
    group_name VARCHAR,          -- communication group, as in the profile
    ordinal INTEGER NOT NULL,    -- position in time within (capture, device_id, step, kind, group_key), from 0
    name VARCHAR,                -- name as in the profile
    start_ns BIGINT,             -- start, in ns since the epoch
    end_ns BIGINT,               -- end, in ns since the epoch
    wait_ns BIGINT,              -- duration − transit_ns; NULL if task types are unknown (Level0), or over RDMA
    transit_ns BIGINT,           -- union of its tasks other than Notify_*; NULL if task types are unknown (Level0), or over RDMA
    size_bytes BIGINT,           -- size of the data; NULL: unknown
    dtype VARCHAR,               -- data type; NULL: unknown
    busy_ns BIGINT,              -- the part that no earlier collective of the same device and step covers
    exposed_ns BIGINT            -- the part of busy_ns that no kernel covers; NULL: no kernels were recorded
);
