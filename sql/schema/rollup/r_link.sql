-- Transfers by pair of ranks.
CREATE TABLE r_link (
    capture INTEGER NOT NULL,
    step BIGINT,
    kind VARCHAR NOT NULL,
    group_key VARCHAR,
    src_rank BIGINT,
    dst_rank BIGINT,
    transport VARCHAR,
    size_bytes BIGINT,
    transit_ns BIGINT
);
