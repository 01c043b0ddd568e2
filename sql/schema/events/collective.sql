-- Communication operators, send and receive included.
CREATE TABLE collective (
    id BIGINT NOT NULL,
    capture INTEGER NOT NULL,
    device_id INTEGER,
    step BIGINT,
    phase INTEGER,
    name VARCHAR,
    kind VARCHAR NOT NULL,    -- all_reduce | all_gather | reduce_scatter | broadcast | all_to_all | send | recv | batch_send_recv | …
    group_name VARCHAR,
    group_ranks VARCHAR,
    ordinal INTEGER,          -- position in time among the collectives of the same kind and group in the step, from 0
    start_ns BIGINT,
    end_ns BIGINT,
    wait_ns BIGINT,
    transit_ns BIGINT,
    size_bytes BIGINT,
    dtype VARCHAR,
    algorithm VARCHAR,
    busy_ns BIGINT,           -- its own share of the union of collectives of its device and step
    exposed_ns BIGINT,        -- the part of busy_ns that no kernel of the device covers
    gap_ns BIGINT
);
