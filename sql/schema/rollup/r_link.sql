-- Transfers by group and pair of ranks.
CREATE TABLE r_link (
    capture INTEGER NOT NULL,  -- capture.capture
    step BIGINT,               -- step.step; NULL: unknown
    kind VARCHAR NOT NULL,     -- kind of collective (collective.kind); 'total': sum over the group
    group_key VARCHAR,         -- r_collective.group_key; 'unlisted group N', largest first, if the group matches no collective
    src_rank BIGINT,           -- sender: global rank if group_key lists the members, else index inside the group
    dst_rank BIGINT,           -- receiver, numbered like src_rank
    transport VARCHAR,         -- HCCS | RDMA | LOCAL | SDMA | PCIE | SIO
    size_bytes BIGINT,         -- bytes transferred
    transit_ns BIGINT          -- time of the transfers; NULL if unknown, as over RDMA
);
