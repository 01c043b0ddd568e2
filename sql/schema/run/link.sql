-- Transfers by pair of ranks, as the profiler reported them (CommAnalyzerMatrix, communication_matrix.json).
CREATE TABLE link (
    capture INTEGER NOT NULL,
    step BIGINT,
    kind VARCHAR NOT NULL,    -- kind of collective, in the vocabulary of collective.kind; "total" for the sum over a group
    group_name VARCHAR,
    src_rank BIGINT,          -- index inside the group
    dst_rank BIGINT,
    transport VARCHAR,        -- HCCS | RDMA | LOCAL | SDMA | PCIE | SIO
    size_bytes BIGINT,
    transit_ns BIGINT
);
