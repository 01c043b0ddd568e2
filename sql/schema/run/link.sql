-- Transfers by pair of ranks, as the profiler reported them (CommAnalyzerMatrix, communication_matrix.json).
CREATE TABLE link (
    capture INTEGER NOT NULL,  -- capture.capture
    step BIGINT,               -- step.step; NULL: unknown
    kind VARCHAR NOT NULL,     -- kind of collective (collective.kind); 'total': sum over the group
    group_name VARCHAR,        -- communication group, as in the profile
    src_rank BIGINT,           -- sender: index inside the group
    dst_rank BIGINT,           -- receiver: index inside the group
    transport VARCHAR,         -- HCCS | RDMA | LOCAL | SDMA | PCIE | SIO
    size_bytes BIGINT,         -- bytes transferred
    transit_ns BIGINT          -- time of the transfers
);
